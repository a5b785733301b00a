-- A worker's name for the claim by which it got the lease: asking again under it finds what it holds.
ALTER TABLE jobs ADD COLUMN claim_key TEXT;
CREATE INDEX jobs_by_claim ON jobs (worker, claim_key, id) WHERE claim_key IS NOT NULL;
