//! What a run is made of: how much happens, which faults strike, which kinds of work there are.

use std::collections::BTreeSet;
use std::fmt;

macro_rules! closed_set {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every one.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// Its word on the command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

closed_set! {
    /// A class of faults.
    Fault {
        /// An engine dies while a batch is on its way: before or after it is durable.
        CrashAtCommit = "crash-at-commit",
        /// An engine dies at any other time.
        Crash = "crash",
        /// An engine stands still for a while and goes on as if nothing had happened.
        Pause = "pause",
        /// It is not known whether a batch was applied.
        Ambiguous = "ambiguous",
        /// The store refuses for a while; nothing is applied.
        Outage = "outage",
        /// A write that can never be applied.
        Rejected = "rejected",
        /// The power goes, and every engine with it. Only on SQLite.
        PowerLoss = "power-loss",
        /// The disk is full, or fails. Only on SQLite.
        Disk = "disk",
        /// An engine is told to stop, and stops.
        Drain = "drain",
        /// The store takes seconds for a batch or a read.
        Stall = "stall",
        /// The clock of an engine jumps.
        Jump = "jump",
        /// The clocks of engines differ.
        Skew = "skew",
        /// Workers in the process that take long, fail, or give back.
        BadWorker = "bad-worker",
        /// Workers outside that die, repeat themselves, come late or lie.
        Liar = "liar",
        /// Handlers that fail or panic.
        BadTurn = "bad-turn",
    }
}

closed_set! {
    /// A kind of work.
    Work {
        /// Calls to counters.
        Count = "count",
        /// Additions to counters by way of objects that keep nothing.
        Relay = "relay",
        /// Transfers between accounts by message.
        Transfer = "transfer",
        /// Numbered messages between pairs.
        Courier = "courier",
        /// Alarms.
        Alarm = "alarm",
        /// Jobs with an owner.
        Job = "job",
        /// Jobs without an owner.
        Enqueue = "enqueue",
        /// Logs and followers.
        Log = "log",
        /// Ends of objects, and their next lives.
        Delete = "delete",
        /// Queues paused, limits changed, jobs cancelled and retried, dead letters replayed.
        People = "people",
        /// Workers outside of the engines.
        Outside = "outside",
        /// Questions why a job is not running, put to the proof.
        Why = "why",
    }
}

/// What a run is made of. The same plan and seed give the same history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Pieces of work that clients begin before the faults stop.
    pub steps: usize,
    /// Faults that strike.
    pub faults: BTreeSet<Fault>,
    /// Work that is done.
    pub work: BTreeSet<Work>,
    /// How many engines; one to three by the seed if none.
    pub engines: Option<usize>,
    /// Whether the history is kept as text.
    pub trace: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            steps: 100,
            faults: Fault::ALL.iter().copied().collect(),
            work: Work::ALL.iter().copied().collect(),
            engines: None,
            trace: false,
        }
    }
}

impl Plan {
    /// The command that runs this plan on `seed` again.
    #[must_use]
    pub fn replay_command(&self, seed: u64) -> String {
        let whole = Plan::default();
        let mut command = format!("cargo run -p abide-sim -- --seed {seed} --trace");
        if self.steps != whole.steps {
            command.push_str(&format!(" --steps {}", self.steps));
        }
        if let Some(engines) = self.engines {
            command.push_str(&format!(" --engines {engines}"));
        }
        let faults = whole.faults.difference(&self.faults).map(ToString::to_string);
        let work = whole.work.difference(&self.work).map(ToString::to_string);
        let without: Vec<String> = faults.chain(work).collect();
        if !without.is_empty() {
            command.push_str(&format!(" --without {}", without.join(",")));
        }
        command
    }

    /// Whether nothing is left out.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let whole = Plan::default();
        self.faults == whole.faults && self.work == whole.work && self.engines.is_none()
    }

    /// Leaves out the fault or work of that word. Whether there is one.
    pub fn leave_out(&mut self, word: &str) -> bool {
        let fault = Fault::ALL.iter().find(|fault| fault.as_str() == word);
        let work = Work::ALL.iter().find(|work| work.as_str() == word);
        if let Some(fault) = fault {
            self.faults.remove(fault);
        }
        if let Some(work) = work {
            self.work.remove(work);
        }
        fault.is_some() || work.is_some()
    }
}
