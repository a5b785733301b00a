-- Lists for people, newest first: the jobs of a queue, and those of it that are over, state by state. A job's moves touch
-- the second once, at its end.
CREATE INDEX jobs_by_queue ON jobs (queue, id);
CREATE INDEX jobs_over_by_id ON jobs (queue, state, id) WHERE finished_at IS NOT NULL;
