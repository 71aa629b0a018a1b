"""The commands about jobs: fleet job."""
