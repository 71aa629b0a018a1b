-- What a person was told, or is to be told: one row for each beginning of a condition, so that each is told once.

CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  -- What has begun; the same in every look as long as it goes on. It may begin again: then it has another row.
  subject TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('needs you', 'failed', 'review', 'blocked')),
  state TEXT NOT NULL CHECK (state IN ('due', 'sending', 'told', 'unsure', 'failed', 'lapsed')),
  -- The home whose agent it is about, which alone tells it and sees whether it still holds; empty when every home may.
  home TEXT NOT NULL DEFAULT '',
  project TEXT NOT NULL,
  slug TEXT,
  dispatch TEXT,
  question TEXT,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  since INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  over_at INTEGER,
  -- The message that tells it, which may tell several, and the home that sends it.
  message TEXT,
  sender TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,
  told_at INTEGER,
  -- The channels that took it, and what went wrong with others.
  channels TEXT NOT NULL DEFAULT '',
  trouble TEXT NOT NULL DEFAULT ''
) STRICT;
-- A condition that goes on has one notice.
CREATE UNIQUE INDEX notices_standing ON notices (subject) WHERE over_at IS NULL;
CREATE INDEX notices_by_subject ON notices (subject);
CREATE INDEX notices_unsent ON notices (state, since) WHERE state IN ('due', 'sending');
CREATE INDEX notices_told ON notices (told_at) WHERE told_at IS NOT NULL;
CREATE INDEX notices_seen ON notices (seen_at);
