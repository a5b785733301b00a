-- Jobs by their unique key: what became of one of a million is found by its name.
CREATE INDEX jobs_by_key ON jobs (unique_key, id) WHERE unique_key IS NOT NULL;
