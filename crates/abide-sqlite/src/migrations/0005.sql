-- Whether a running job gave back the places of its limit keys before its end.
ALTER TABLE jobs ADD COLUMN has_vacated INTEGER NOT NULL DEFAULT 0;
