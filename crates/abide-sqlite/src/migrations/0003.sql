-- The W3C trace context of whoever caused a message, so that what its receiver enqueues is in the same trace.
ALTER TABLE messages ADD COLUMN trace TEXT;
