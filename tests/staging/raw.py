"""The store asked in its own language, past the named queries."""


def select(rows, sql: str) -> list[dict]:
    """What a statement selects, each row as a dict."""
    cursor = rows._db.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
