//! The machine by itself, with a store whose answers the test chooses.

use crate::objects::{Do, Puppet};
use abide_core::event::Consumes;
use abide_core::job::{AttemptEnd, Finish, JobId, JobState, Lease, LeaseRef, NewJob};
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::limits::{INBOX_MESSAGES, LEASE_MS, TURN_ATTEMPTS};
use abide_core::name::{JobKind, LimitKey, QueueName, WorkerId};
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::machine::{
    AskId, CallId, Input, Machine, MachineOptions, NoWitness, Notice, Output, WriteToken,
};
use abide_engine::worker::{JobContext, done};
use abide_engine::{Call, CallError, Registry};
use abide_store::memory::MemoryStore;
use abide_store::view::JobView;
use abide_store::write::Claim;
use abide_store::{Answer, Read, Reader, Store, StoreError, Write, Written};
use std::collections::VecDeque;

/// What happens to writes.
#[derive(Debug, Clone)]
enum Trouble {
    /// They fail with this, and are not applied.
    Fails(StoreError),
    /// They are applied, and the answer is lost.
    LosesTheAnswer,
}

/// Whether something happens to a write.
type Strikes = fn(&Write) -> bool;

struct Desk {
    machine: Machine,
    store: MemoryStore,
    now: Time,
    /// What happens to the writes for which this holds.
    trouble: Option<(Strikes, Trouble)>,
    written: Vec<Write>,
    reads: Vec<Read>,
    /// What the machine put out after one run: the kinds of its writes.
    runs: Vec<Vec<&'static str>>,
    replies: Vec<(u64, bool)>,
    started: Vec<Lease>,
    dead: usize,
    /// Whether what is read is as it was before the writes that the machine put out with the read, and comes after them.
    reads_are_old: bool,
    /// So many more messages come with each page of others that is read.
    trickle: VecDeque<usize>,
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a page cannot be read".into())
}

fn any(_: &Write) -> bool {
    true
}

fn is_claim(write: &Write) -> bool {
    matches!(write, Write::Claim(_))
}

fn is_turn_for_message(write: &Write) -> bool {
    matches!(write, Write::Commit(commit) if matches!(commit.consumes, Consumes::Message(_)))
}

fn add() -> Json {
    Json::encode(&Do::Add("n".into(), 1)).unwrap()
}

fn new_job() -> NewJob {
    NewJob::new(QueueName::new("q").unwrap(), JobKind::new("work").unwrap(), Json::null())
}

impl Desk {
    fn new() -> Desk {
        let mut desk = Desk::on(MemoryStore::new());
        desk.give(Input::Start { crashed: None });
        desk
    }

    /// One that has not begun.
    fn on(store: MemoryStore) -> Desk {
        Desk::with_slots(store, 2)
    }

    /// The same, which runs so many jobs at a time.
    fn with_slots(store: MemoryStore, slots: usize) -> Desk {
        Desk::with_options(store, slots, MachineOptions::default())
    }

    fn with_options(store: MemoryStore, slots: usize, options: MachineOptions) -> Desk {
        let mut registry = Registry::new();
        registry.object(Puppet).unwrap();
        registry.worker("q", "work", slots, |job: JobContext| async move { done(&job.attempt()) }).unwrap();
        Desk {
            machine: Machine::new(options, registry, Box::new(NoWitness), 1),
            store,
            now: Time(1_000_000),
            trouble: None,
            written: Vec::new(),
            reads: Vec::new(),
            runs: Vec::new(),
            replies: Vec::new(),
            started: Vec::new(),
            dead: 0,
            reads_are_old: false,
            trickle: VecDeque::new(),
        }
    }

    fn give(&mut self, input: Input) {
        self.machine.input(input, self.now);
        self.settle();
    }

    fn call(&mut self, id: u64, object: &str) {
        let call = Call { object: object.parse().unwrap(), body: add(), key: None };
        self.give(Input::Call(CallId(id), call, None));
    }

    fn ask(&mut self, write: Write) {
        self.give(Input::Ask(AskId(0), write));
    }

    fn enqueue(&mut self) {
        self.ask(Write::Enqueue { jobs: vec![new_job()] });
    }

    /// Pages of messages that were read.
    fn pages(&self) -> usize {
        self.reads.iter().filter(|read| matches!(read, Read::Messages { .. })).count()
    }

    /// Messages that somebody else's batch brings.
    fn send_many(&mut self, count: usize) {
        let send = Write::Send { to: "puppet/a".parse().unwrap(), body: add() };
        let result = self.store.write(self.now, &vec![send; count]);
        self.machine.input(Input::Wrote { tokens: Vec::new(), writes: Vec::new(), result }, self.now);
    }

    /// Goes on to when the machine wants to run next.
    fn wait(&mut self) {
        self.now = self.machine.wake_at().unwrap();
        self.settle();
    }

    /// Lets the machine run until it has nothing more to say at this time.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            if !self.run() {
                return;
            }
        }
        panic!("the machine does not come to rest");
    }

    /// One run. Whether there is more to do.
    fn run(&mut self) -> bool {
        let more = self.machine.run(self.now, 64);
        let outputs = self.machine.outputs();
        let more = more || !outputs.is_empty();
        let (mut tokens, mut writes) = (Vec::new(), Vec::new());
        let mut others = Vec::new();
        for output in outputs {
            match output {
                Output::Write(token, write) => {
                    tokens.push(token);
                    writes.push(write);
                }
                other => others.push(other),
            }
        }
        self.runs.push(writes.iter().map(kind).collect());
        let old = if self.reads_are_old { self.answers(&mut others) } else { Vec::new() };
        self.write(tokens, writes);
        for answer in old {
            self.machine.input(answer, self.now);
        }
        for output in others {
            self.put_out(output);
        }
        more
    }

    /// Answers reads, and takes them out.
    fn answers(&mut self, outputs: &mut Vec<Output>) -> Vec<Input> {
        let (reads, others) =
            std::mem::take(outputs).into_iter().partition(|o| matches!(o, Output::Read(..)));
        *outputs = others;
        let mut answers = Vec::new();
        for read in reads {
            if let Output::Read(token, read) = read {
                let result = self.store.read(self.now, &read);
                self.reads.push(read);
                answers.push(Input::Answered { token, result });
            }
        }
        answers
    }

    /// Writes in one batch; if there is trouble, one at a time.
    fn write(&mut self, tokens: Vec<WriteToken>, writes: Vec<Write>) {
        self.written.extend(writes.iter().cloned());
        if self.trouble.is_none() && !writes.is_empty() {
            let result = self.store.write(self.now, &writes);
            self.machine.input(Input::Wrote { tokens, writes, result }, self.now);
            return;
        }
        for (token, write) in tokens.into_iter().zip(writes) {
            let result = self.write_one(&write);
            let wrote = Input::Wrote { tokens: vec![token], writes: vec![write], result };
            self.machine.input(wrote, self.now);
        }
    }

    fn put_out(&mut self, output: Output) {
        match output {
            Output::Read(token, read) => {
                let is_bad = matches!(&read, Read::Load(load) if load.object.name.as_str() == "bad");
                let result = if is_bad { Err(damaged()) } else { self.store.read(self.now, &read) };
                if matches!(read, Read::Messages { .. })
                    && let Some(more) = self.trickle.pop_front()
                {
                    self.send_many(more);
                }
                self.reads.push(read);
                self.machine.input(Input::Answered { token, result }, self.now);
            }
            Output::Reply(id, answer) => {
                let is_damaged = answer == Err(CallError::Store(damaged()));
                assert!(answer.is_ok() || is_damaged || self.trouble.is_some(), "{answer:?}");
                self.replies.push((id.0, answer.is_ok()));
            }
            Output::Reopen => {
                self.store.reopen().unwrap();
                self.trouble = None;
                self.machine.input(Input::Reopened, self.now);
            }
            Output::Run { lease, .. } => self.started.push(lease),
            Output::Notice(Notice::DeadLetter { .. }) => self.dead += 1,
            Output::Write(..) | Output::Told(..) | Output::Stop(_) | Output::Notice(_) => {}
        }
    }

    fn write_one(&mut self, write: &Write) -> Result<abide_store::Batch, StoreError> {
        let trouble = self.trouble.as_ref().filter(|(strikes, _)| strikes(write));
        match trouble.map(|(_, trouble)| trouble.clone()) {
            None => self.store.write(self.now, std::slice::from_ref(write)),
            Some(Trouble::Fails(error)) => Err(error),
            Some(Trouble::LosesTheAnswer) => {
                self.store.write(self.now, std::slice::from_ref(write)).unwrap();
                Err(StoreError::Ambiguous("the answer was lost".into()))
            }
        }
    }

    /// Gives a job to a worker outside of the process.
    fn claim_elsewhere(&mut self) -> LeaseRef {
        let (queues, kinds) = (vec![new_job().queue], vec![new_job().kind]);
        let worker = WorkerId::new("elsewhere").unwrap();
        let claim =
            Claim { worker, life: None, queues, kinds, max: 1, lease_ms: LEASE_MS, seed: 7, key: None };
        let written = self.store.write(self.now, &[Write::Claim(claim)]).unwrap().written;
        let [Written::Claimed(claimed)] = &written[..] else { panic!("{written:?}") };
        claimed.leases[0].lease
    }

    fn job(&mut self, id: JobId) -> JobView {
        let Answer::Job(Some(view)) = self.store.read(self.now, &Read::Job(id)).unwrap() else { panic!() };
        *view
    }

    fn count(&self, is_it: fn(&Write) -> bool) -> usize {
        self.written.iter().filter(|write| is_it(write)).count()
    }
}

fn kind(write: &Write) -> &'static str {
    match write {
        Write::Enqueue { .. } => "enqueue",
        Write::Claim(_) => "claim",
        Write::Commit(_) => "commit",
        Write::Finish { .. } => "finish",
        Write::Vacate { .. } => "vacate",
        _ => "other",
    }
}

fn end(lease: &Lease) -> Input {
    let finish: Finish = AttemptEnd::Done { result: Json::null() }.into();
    Input::Ended { lease: lease.lease, finish }
}

#[test]
fn a_page_that_cannot_be_read_fails_its_call_alone() {
    let mut desk = Desk::new();
    desk.call(1, "puppet/bad");
    desk.call(2, "puppet/good");
    desk.call(3, "puppet/bad");
    assert_eq!(desk.replies, [(1, false), (2, true), (3, false)]);
    assert!(desk.machine.is_idle());
}

#[test]
fn a_load_that_commits_have_overtaken_is_taken_all_the_same() {
    let mut desk = Desk::new();
    let rows = |round: u64| (0..20).map(move |n| (100 * round + n, format!("row/{n}")));
    let add = |desk: &mut Desk, round| {
        for (id, row) in rows(round) {
            let body = Json::encode(&Do::Add(row, 1)).unwrap();
            let call = Call { object: "puppet/a".parse().unwrap(), body, key: None };
            desk.machine.input(Input::Call(CallId(id), call, None), desk.now);
        }
        desk.settle();
    };
    add(&mut desk, 0);
    let mut next = Desk::on(desk.store);
    next.give(Input::Start { crashed: None });
    next.reads_are_old = true;
    next.reads.clear();
    add(&mut next, 1);
    let loads = next.reads.iter().filter(|read| matches!(read, Read::Load(_))).count();
    // The header, and each row.
    assert_eq!(loads, 1 + 20);
    assert!(next.replies.iter().all(|(_, is_ok)| *is_ok) && next.replies.len() == 20);
}

#[test]
fn messages_that_come_while_others_are_read_are_not_read_one_by_one() {
    let mut desk = Desk::new();
    desk.trickle = [1; 1_000].into();
    desk.send_many(INBOX_MESSAGES + 1);
    desk.settle();
    let pages = desk.pages();
    assert!(pages <= 3, "{pages} pages");
    assert_eq!(desk.count(is_turn_for_message), INBOX_MESSAGES + 1 + pages);
    assert!(desk.machine.is_idle());
}

#[test]
fn more_messages_than_memory_holds_that_come_while_others_are_read_wait_in_the_store() {
    let mut desk = Desk::new();
    desk.trickle = [3 * INBOX_MESSAGES].into();
    desk.send_many(INBOX_MESSAGES + 1);
    desk.settle();
    assert!(desk.pages() >= 4, "{} pages", desk.pages());
    assert_eq!(desk.count(is_turn_for_message), 4 * INBOX_MESSAGES + 1);
    assert!(desk.machine.is_idle());
}

#[test]
fn a_run_ends_when_it_has_made_memory_grow_by_much() {
    let options = MachineOptions { cache_bytes: 1_000_000, ..MachineOptions::default() };
    let mut desk = Desk::with_options(MemoryStore::new(), 2, options);
    desk.give(Input::Start { crashed: None });
    desk.runs.clear();
    for id in 0..40 {
        let body = Json::encode(&Do::Put(format!("row/{id}"), "x".repeat(100_000).into())).unwrap();
        let call = Call { object: format!("puppet/{id}").parse().unwrap(), body, key: None };
        desk.machine.input(Input::Call(CallId(id), call, None), desk.now);
    }
    desk.settle();
    let turns = |run: &Vec<&str>| run.iter().filter(|kind| **kind == "commit").count();
    assert_eq!(desk.runs.iter().map(turns).sum::<usize>(), 40);
    assert!(desk.runs.iter().all(|run| turns(run) <= 2), "{:?}", desk.runs);
}

#[test]
fn after_an_outage_leases_are_granted_anew() {
    let mut desk = Desk::new();
    let regrants = |desk: &Desk| desk.count(|write| matches!(write, Write::Regrant { .. }));
    desk.call(1, "puppet/a");
    let before = regrants(&desk);
    desk.trouble = Some((any, Trouble::Fails(StoreError::Unavailable("it is away".into()))));
    desk.call(2, "puppet/a");
    desk.trouble = None;
    desk.wait();
    assert_eq!(regrants(&desk), before + 1);
    desk.call(3, "puppet/a");
    assert_eq!(desk.replies, [(1, true), (2, false), (3, true)]);
}

#[test]
fn time_without_an_engine_costs_a_worker_elsewhere_nothing() {
    let mut desk = Desk::with_slots(MemoryStore::new(), 0);
    desk.give(Input::Start { crashed: None });
    let [heard, silent] = [(); 2].map(|()| {
        desk.enqueue();
        desk.claim_elsewhere()
    });
    let mut next = Desk::with_slots(desk.store, 0);
    next.now = desk.now.plus_ms(2 * LEASE_MS);
    next.give(Input::Start { crashed: None });
    next.now = next.now.plus_ms(LEASE_MS - 1);
    next.settle();
    let finish: Finish = AttemptEnd::Done { result: Json::null() }.into();
    next.ask(Write::Finish { lease: heard, finish, seed: 0 });
    next.now = next.now.plus_ms(1);
    next.settle();
    let ended = [heard, silent].map(|lease| next.job(lease.job)).map(|view| (view.state, view.failures));
    assert_eq!(ended, [(JobState::Done, 0), (JobState::Ready, 1)]);
}

#[test]
fn an_event_whose_commit_is_rejected_becomes_a_dead_letter_and_holds_nobody_up() {
    let mut desk = Desk::new();
    desk.trouble = Some((is_turn_for_message, Trouble::Fails(StoreError::Rejected("it cannot be".into()))));
    desk.ask(Write::Send { to: "puppet/a".parse().unwrap(), body: add() });
    desk.ask(Write::Send { to: "puppet/a".parse().unwrap(), body: add() });
    desk.call(1, "puppet/b");
    for _ in 0..200 {
        if desk.dead == 2 {
            break;
        }
        desk.wait();
    }
    assert_eq!(desk.dead, 2);
    assert_eq!(desk.count(is_turn_for_message), 2 * TURN_ATTEMPTS as usize);
    assert_eq!(desk.replies, [(1, true)]);
    desk.trouble = None;
    desk.call(2, "puppet/a");
    assert_eq!(desk.replies, [(1, true), (2, true)]);
    let Answer::Dead(dead) = desk.store.read(desk.now, &Read::Dead { after: None, limit: 9 }).unwrap() else {
        panic!()
    };
    assert_eq!(dead.len(), 2);
    assert!(desk.machine.is_idle());
}

#[test]
fn nothing_passes_a_message_whose_failure_is_not_durable() {
    let mut desk = Desk::new();
    let is_failure = |write: &Write| matches!(write, Write::FailEvent(_));
    desk.trouble = Some((is_failure, Trouble::Fails(StoreError::Rejected("it cannot be".into()))));
    let to: ObjectKey = "puppet/a".parse().unwrap();
    desk.ask(Write::Send { to: to.clone(), body: Json::encode(&Do::Fail).unwrap() });
    desk.ask(Write::Send { to, body: add() });
    for _ in 0..5 {
        desk.wait();
    }
    assert!(desk.count(is_failure) > 1);
    assert_eq!(desk.count(is_turn_for_message), 0);
    desk.trouble = None;
    desk.wait();
    assert_eq!(desk.count(is_turn_for_message), 1);
}

#[test]
fn a_claim_whose_answer_is_lost_costs_no_attempt() {
    let mut desk = Desk::new();
    desk.enqueue();
    let first = desk.started.remove(0);
    desk.trouble = Some((is_claim, Trouble::LosesTheAnswer));
    desk.enqueue();
    desk.settle();
    // The one that ran goes on; the one that nobody knew of is handed back, and runs.
    let second = desk.started.remove(0);
    assert_eq!((second.lease.attempt, desk.started.len()), (2, 0));
    let view = desk.job(second.lease.job);
    assert_eq!((view.state, view.failures, view.restarts), (JobState::Running, 0, 0));
    desk.give(end(&first));
    desk.give(end(&second));
    for (lease, attempts) in [(first, 1), (second, 2)] {
        let view = desk.job(lease.lease.job);
        assert_eq!((view.state, view.attempts.len()), (JobState::Done, attempts));
    }
    assert!(desk.machine.is_idle());
}

#[test]
fn a_claim_whose_answer_is_lost_does_not_undo_an_end_that_waits_for_the_store() {
    let mut desk = Desk::new();
    desk.enqueue();
    let first = desk.started.remove(0);
    desk.trouble = Some((any, Trouble::Fails(StoreError::Unavailable("it is away".into()))));
    desk.give(end(&first));
    desk.trouble = Some((is_claim, Trouble::LosesTheAnswer));
    desk.store.write(desk.now, &[Write::Enqueue { jobs: vec![new_job()] }]).unwrap();
    desk.wait();
    desk.settle();
    let view = desk.job(first.lease.job);
    assert_eq!((view.state, view.attempts.len()), (JobState::Done, 1));
}

#[test]
fn an_engine_that_stops_reads_no_further_and_comes_to_rest() {
    let mut store = MemoryStore::new();
    let to = "puppet/a".parse().unwrap();
    let sends = vec![Write::Send { to, body: add() }; 1_000];
    store.write(Time(1_000_000), &sends).unwrap();
    let mut desk = Desk::on(store);
    desk.machine.input(Input::Start { crashed: None }, desk.now);
    let pages = |desk: &Desk| desk.reads.iter().filter(|read| matches!(read, Read::Messages { .. })).count();
    while pages(&desk) == 0 {
        assert!(desk.run());
    }
    desk.give(Input::Drain);
    assert_eq!(pages(&desk), 1);
    assert!(desk.machine.is_idle());
    let left = Read::Messages { to: "puppet/a".parse().unwrap(), after: None, limit: 9 };
    let Answer::Messages(left) = desk.store.read(desk.now, &left).unwrap() else { panic!() };
    assert!(!left.is_empty());
}

#[test]
fn a_job_and_its_claim_go_out_together_and_nothing_is_claimed_for_nothing() {
    let mut desk = Desk::new();
    desk.runs.clear();
    let before = desk.count(is_claim);
    desk.enqueue();
    assert_eq!(desk.runs[0], ["enqueue", "claim"]);
    assert_eq!((desk.started.len(), desk.count(is_claim) - before), (1, 1));
    desk.enqueue();
    assert_eq!((desk.started.len(), desk.count(is_claim) - before), (2, 2));
    // Its places are taken: nothing is asked for until one is free.
    desk.enqueue();
    for _ in 0..100 {
        desk.run();
    }
    assert_eq!((desk.started.len(), desk.count(is_claim) - before), (2, 2));
    let first = desk.started.remove(0);
    desk.give(end(&first));
    assert_eq!((desk.started.len(), desk.count(is_claim) - before), (2, 3));
    for lease in std::mem::take(&mut desk.started) {
        desk.give(end(&lease));
    }
    for _ in 0..100 {
        desk.run();
    }
    assert_eq!((desk.started.len(), desk.count(is_claim) - before <= 5), (0, true));
    assert!(desk.machine.is_idle());
}

#[test]
fn what_frees_a_place_at_a_limit_and_the_claim_of_the_next_go_out_together() {
    let mut desk = Desk::new();
    let key = LimitKey::new("host:a").unwrap();
    let one = LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() };
    desk.ask(Write::SetLimit { key: key.clone(), policy: Some(one) });
    let jobs = (0..5).map(|_| NewJob { limit_keys: vec![key.clone()], ..new_job() }).collect();
    desk.ask(Write::Enqueue { jobs });
    let free = |desk: &mut Desk, by: fn(&Lease) -> Input| {
        let lease = desk.started.pop().unwrap();
        desk.runs.clear();
        desk.give(by(&lease));
        let runs = desk.runs.iter().filter(|run| !run.is_empty());
        runs.map(|run| run.join("+")).collect::<Vec<String>>()
    };
    // That somebody waits is seen at the first end.
    assert_eq!(free(&mut desk, end), ["finish", "claim"]);
    assert_eq!(free(&mut desk, end), ["finish+claim"]);
    let vacated = desk.started[0].clone();
    assert_eq!(free(&mut desk, |lease| Input::Vacated { lease: lease.lease }), ["vacate+claim"]);
    assert_eq!(desk.job(vacated.lease.job).state, JobState::Running);
    // Its place is another's: its end frees nothing, and nothing is claimed for it.
    desk.runs.clear();
    desk.give(end(&vacated));
    assert_eq!(desk.runs.concat(), ["finish"]);
    assert_eq!(desk.job(vacated.lease.job).state, JobState::Done);
    assert_eq!(desk.started.len(), 1);
    assert_eq!(free(&mut desk, end), ["finish+claim"]);
    assert_eq!(free(&mut desk, end), ["finish+claim"]);
    assert!(desk.started.is_empty() && desk.machine.is_idle());
}

#[test]
fn a_place_that_becomes_free_while_a_claim_is_on_its_way_is_claimed_for_as_well() {
    let mut desk = Desk::with_slots(MemoryStore::new(), 8);
    desk.give(Input::Start { crashed: None });
    let one = LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() };
    desk.ask(Write::SetLimit { key: LimitKey::new("host:*").unwrap(), policy: Some(one) });
    let of = |host: &str| NewJob { limit_keys: vec![LimitKey::new(host).unwrap()], ..new_job() };
    let jobs = ["host:a", "host:b", "host:a", "host:b", "host:a", "host:b"].map(of).to_vec();
    desk.ask(Write::Enqueue { jobs });
    for lease in std::mem::take(&mut desk.started) {
        desk.give(end(&lease));
    }
    let leases = std::mem::take(&mut desk.started);
    assert_eq!(leases.len(), 2);
    // Nothing is answered before both have gone out.
    let mut sent = Vec::new();
    for lease in &leases {
        desk.machine.input(Input::Vacated { lease: lease.lease }, desk.now);
        assert!(!desk.machine.run(desk.now, 64));
        let writes: Vec<_> = desk
            .machine
            .outputs()
            .into_iter()
            .map(|output| match output {
                Output::Write(token, write) => (token, write),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(writes.iter().map(|(_, write)| kind(write)).collect::<Vec<_>>(), ["vacate", "claim"]);
        sent.push(writes);
    }
    for writes in sent {
        let (tokens, writes) = writes.into_iter().unzip();
        desk.write(tokens, writes);
    }
    desk.settle();
    assert_eq!(desk.started.len(), 2, "the third of each host");
}
