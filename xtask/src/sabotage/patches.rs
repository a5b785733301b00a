//! The patches: each takes one promise away, and names what notices.

/// One way to break it.
pub(super) struct Patch {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    /// Found exactly once in the file.
    pub(super) find: &'static str,
    pub(super) replace: &'static str,
    pub(super) catcher: Catcher,
}

/// What notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Catcher {
    /// So many seeds of the simulator.
    Seeds(&'static str),
    /// Tests of a crate by their name.
    Test(&'static str, &'static str),
    /// Tests inside of a crate by their name.
    Unit(&'static str, &'static str),
}

const SOME: Catcher = Catcher::Seeds("60");
const MANY: Catcher = Catcher::Seeds("400");
const POWER: Catcher = Catcher::Test("abide-sqlite", "power::nothing");

pub(super) const PATCHES: &[Patch] = &[
    Patch {
        name: "drop the fence",
        file: "crates/abide-store/src/memory/objects.rs",
        find: "if holds { Ok(()) } else { Err(Refused::Moved) }",
        replace: "if holds || true { Ok(()) } else { Err(Refused::Moved) }",
        catcher: SOME,
    },
    Patch {
        name: "acknowledge before the sync",
        file: "crates/abide-sqlite/src/open.rs",
        find: "PRAGMA synchronous = FULL;",
        replace: "PRAGMA synchronous = OFF;",
        catcher: POWER,
    },
    Patch {
        name: "sync at checkpoints only",
        file: "crates/abide-sqlite/src/open.rs",
        find: "PRAGMA synchronous = FULL;",
        replace: "PRAGMA synchronous = NORMAL;",
        catcher: POWER,
    },
    Patch {
        name: "let a failed commit come back",
        file: "crates/abide-sqlite/src/store.rs",
        find: "        begin_log_anew(&link).map_err(Fault::into_store)?;\n",
        replace: "",
        catcher: POWER,
    },
    Patch {
        name: "call a failed sync a refusal",
        file: "crates/abide-sqlite/src/error.rs",
        find: "                StoreError::Ambiguous(error.to_string())\n",
        replace: "                StoreError::Unavailable(error.to_string())\n",
        catcher: POWER,
    },
    Patch {
        name: "merge a stale row",
        file: "crates/abide-engine/src/cache.rs",
        find: "                    if matches!(self.row(&key), Lookup::Unknown) {\n",
        replace: "                    {\n",
        catcher: Catcher::Unit("abide-engine", "what_is_known_is_true"),
    },
    Patch {
        name: "lose an alarm on restart",
        file: "crates/abide-engine/src/machine/timers.rs",
        find: "        self.timetable.alarm_at = Some(self.now);\n",
        replace: "",
        catcher: SOME,
    },
    Patch {
        name: "double-free a limit",
        file: "crates/abide-store/src/memory/attempts.rs",
        find: "        for key in self.job(id).keys_held() {\n            self.free_key(&key);",
        replace: "        for key in self.job(id).keys_held() {\n            self.free_key(&key);\n            self.free_key(&key);",
        catcher: SOME,
    },
    Patch {
        name: "reuse an incarnation",
        file: "crates/abide-engine/src/machine/mod.rs",
        find: "        self.lives_begun += 1;\n",
        replace: "",
        catcher: SOME,
    },
    Patch {
        name: "reply before an earlier commit",
        file: "crates/abide-engine/src/machine/turns.rs",
        find: "(&delivery.origin, self.slots.get(id).pending.is_empty())",
        replace: "(&delivery.origin, true)",
        catcher: MANY,
    },
    Patch {
        name: "let a late ack win",
        file: "crates/abide-store/src/memory/attempts.rs",
        find: "        if job.is_held_by(lease) {\n            self.end_attempt(",
        replace: "        if job.is_held_by(lease) || job.running.is_some() {\n            self.end_attempt(",
        catcher: MANY,
    },
    Patch {
        name: "run an ambiguous call again",
        file: "crates/abide-engine/src/machine/settle.rs",
        find: "                Origin::Call { id: call, key: None } if was_in_batch => unknown.push(*call),\n",
        replace: "                Origin::Call { id: call, key: None } if was_in_batch && call.0 == 0 => unknown.push(*call),\n",
        catcher: MANY,
    },
    Patch {
        name: "let a key take effect twice",
        file: "crates/abide-store/src/memory/commit.rs",
        find: "        self.check_key(commit)?;\n",
        replace: "        self.check_key(commit).ok();\n",
        catcher: MANY,
    },
    Patch {
        name: "keep what ran on a refused commit",
        file: "crates/abide-engine/src/machine/settle.rs",
        find: "            Refused::Moved => slot.rerun_from(at),\n",
        replace: "            Refused::Moved => slot.rerun_from(at + 1),\n",
        catcher: SOME,
    },
    Patch {
        name: "consume a message and leave it there",
        file: "crates/abide-store/src/memory/commit.rs",
        find: "                self.messages.remove(*id);\n",
        replace: "                let _ = id;\n",
        catcher: SOME,
    },
    Patch {
        name: "let time run backwards",
        file: "crates/abide-store/src/memory/state.rs",
        find: "        self.now = self.now.max(now);\n        let mut woken",
        replace: "        self.now = now;\n        let mut woken",
        catcher: Catcher::Test("abide-store", "the_memory_store_passes_the_suite"),
    },
    Patch {
        name: "retry a failing event for ever",
        file: "crates/abide-engine/src/machine/settle.rs",
        find: "if failed >= TURN_ATTEMPTS {",
        replace: "if failed >= TURN_ATTEMPTS + 1_000_000 {",
        catcher: SOME,
    },
    Patch {
        name: "deliver past messages that wait in the store",
        file: "crates/abide-engine/src/machine/deliver.rs",
        find: "Stored { after: None, .. } if may_be_others => {",
        replace: "Stored { after: None, .. } if may_be_others && message.id.0 == 0 => {",
        catcher: MANY,
    },
    Patch {
        name: "forget on SQLite that a key was used",
        file: "crates/abide-sqlite/src/commit.rs",
        find: "            && self.has_reply(&commit.object, &reply.key)?\n",
        replace: "            && self.has_reply(&commit.object, &reply.key)?\n            && commit.at.0 == 0\n",
        catcher: Catcher::Test("abide-sqlite", "suite::every_story"),
    },
    Patch {
        name: "leave leases that nobody knows of",
        file: "crates/abide-engine/src/machine/settle.rs",
        find: "                Some(WriteFor::Claim { pool, slots }) => self.jobs.lose_a_claim(pool, slots),\n",
        replace: "                Some(WriteFor::Claim { pool, slots }) => self.jobs.claim_again(pool, slots),\n",
        catcher: Catcher::Test("abide-engine", "machine::a_claim_whose_answer_is_lost_costs"),
    },
    Patch {
        name: "try for ever what the store rejects",
        file: "crates/abide-engine/src/machine/settle.rs",
        find: "matches!(error, StoreError::Rejected(_)) && tokens.len() == 1\n",
        replace: "matches!(error, StoreError::Rejected(_)) && tokens.is_empty()\n",
        catcher: Catcher::Test("abide-engine", "machine::an_event_whose_commit_is_rejected"),
    },
    Patch {
        name: "read on while it stops",
        file: "crates/abide-engine/src/machine/deliver.rs",
        find: "            slot.following.behind = false;\n            return;\n",
        replace: "            slot.following.behind = false;\n            slot.stored.after = Some(MessageId(0));\n",
        catcher: Catcher::Test("abide-engine", "machine::an_engine_that_stops"),
    },
    Patch {
        name: "let leases run out while the store is away",
        file: "crates/abide-engine/src/machine/mod.rs",
        find: "            self.regrant_after_outage();\n",
        replace: "",
        catcher: Catcher::Test("abide-engine", "machine::after_an_outage"),
    },
    Patch {
        name: "let leases run out while there is no engine",
        file: "crates/abide-engine/src/machine/settle.rs",
        find: "                self.regrant_after_absence();\n",
        replace: "",
        catcher: Catcher::Test("abide-engine", "machine::time_without_an_engine"),
    },
    Patch {
        name: "let one damaged page stop everybody",
        file: "crates/abide-engine/src/machine/loads.rs",
        find: "            return self.load_failed(token, *slot, error);\n",
        replace: "            self.slots.get(*slot).touched = true;\n",
        catcher: Catcher::Test("abide-engine", "machine::a_page_that_cannot_be_read"),
    },
    Patch {
        name: "let leases run out while the process stands still",
        file: "crates/abide-engine/src/driver/thread.rs",
        find: "                    self.notice_freeze(at);\n",
        replace: "",
        catcher: Catcher::Test("abide-engine", "driver::a_process_that_stood_still"),
    },
    Patch {
        name: "drop what comes while the store is opened",
        file: "crates/abide-engine/src/driver/store_threads.rs",
        find: "                    Ok(job) => next.push_back(job),\n",
        replace: "                    Ok(job) => drop(job),\n",
        catcher: Catcher::Test("abide-engine", "driver::what_is_written_while"),
    },
    Patch {
        name: "say nothing of the second half of a batch",
        file: "crates/abide-engine/src/driver/store_threads.rs",
        find: "        drop(inbox.send(Message::Input(late)));\n",
        replace: "        drop(late);\n",
        catcher: Catcher::Test("abide-engine", "driver::the_second_half"),
    },
    Patch {
        name: "pass an event whose failure is not durable",
        file: "crates/abide-engine/src/machine/turns.rs",
        find: "slot.has_failure()",
        replace: "false",
        catcher: Catcher::Test("abide-engine", "machine::nothing_passes"),
    },
    Patch {
        name: "let leases run out when the clock is set",
        file: "crates/abide-engine/src/driver/thread.rs",
        find: "        if let Some(by_ms) = jumped {\n",
        replace: "        if let Some(by_ms) = jumped.filter(|by_ms| *by_ms == 0) {\n",
        catcher: Catcher::Test("abide-engine", "driver::a_clock_that_is_set"),
    },
    Patch {
        name: "forget what a claim under a key gave",
        file: "crates/abide-store/src/memory/claim.rs",
        find: "        let Some(key) = &claim.key else { return Vec::new() };\n",
        replace: "        let Some(key) = claim.key.as_ref().filter(|key| key.as_str().is_empty()) else { return Vec::new() };\n",
        catcher: SOME,
    },
    Patch {
        name: "leave jobs parked when their limit opens",
        file: "crates/abide-store/src/memory/claim.rs",
        find: "            self.refill_key(&key, woken);\n",
        replace: "            let _ = &key;\n",
        catcher: SOME,
    },
    Patch {
        name: "drop rows that are not in the store yet",
        file: "crates/abide-engine/src/machine/slot.rs",
        find: "        if self.has_commits_under_way() {\n            return false;\n        }\n        self.cache",
        replace: "        self.cache",
        catcher: MANY,
    },
    Patch {
        name: "lose messages that come while others are read",
        file: "crates/abide-engine/src/machine/deliver.rs",
        find: "            Came::Known(came) if !is_full => (None, came),\n",
        replace: "            Came::Known(_) if !is_full => (None, Vec::new()),\n",
        catcher: MANY,
    },
];
