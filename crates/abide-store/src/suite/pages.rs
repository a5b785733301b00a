//! What people see, page by page.

use super::probe::{Probe, alarm_name, concurrency, done, job, kind, limit_key, name, object, queue, worker};
use super::{answer, stories};
use crate::read::{Answer, Read};
use crate::view::{JobFilter, JobPage, ObjectView, TimeRange};
use crate::write::{WorkerCard, Write};
use abide_core::commit::{AlarmWrite, Commit};
use abide_core::job::{JobId, JobState, NewJob};
use abide_core::json::Json;
use abide_core::limits::{PAGE_BYTES, PAGE_ITEMS};
use abide_core::log::Seq;
use abide_core::name::{Kind, UniqueKey};
use abide_core::object::{ObjectKey, Version};
use abide_core::time::Time;
use serde_json::Value;

stories![
    jobs_are_listed_newest_first,
    jobs_are_filtered,
    jobs_are_filtered_by_key_and_time,
    large_jobs_make_short_pages,
    an_object_is_shown_with_its_alarms,
    objects_are_listed_by_kind_and_name,
    limits_are_paged_by_key,
    workers_are_listed_by_id,
    a_reader_sees_what_was_written_before,
];

fn page(p: &mut Probe<'_>, filter: JobFilter) -> JobPage {
    answer!(p.read(Read::Jobs(filter)), Answer::Jobs(page) => page)
}

fn ids(page: &JobPage) -> Vec<JobId> {
    page.jobs.iter().map(|view| view.job).collect()
}

fn jobs_are_listed_newest_first(p: &mut Probe<'_>) {
    let jobs: Vec<JobId> = (0..5).map(|_| p.enqueue(job())).collect();
    let lease = p.claims(1, &jobs[..1]).remove(0);
    p.finish(&lease, done());
    let first = page(p, JobFilter { limit: 2, ..JobFilter::default() });
    assert_eq!((ids(&first), first.next), (vec![jobs[4], jobs[3]], Some(jobs[3])));
    let second = page(p, JobFilter { before: first.next, limit: 3, ..JobFilter::default() });
    assert_eq!((ids(&second), second.next), (vec![jobs[2], jobs[1], jobs[0]], None));
    assert_eq!(second.jobs[2].attempts, [], "attempts are left out of listings");
    assert_eq!(p.job(jobs[0]).attempts.len(), 1);
    let none = page(p, JobFilter { before: Some(jobs[0]), limit: 3, ..JobFilter::default() });
    assert_eq!((ids(&none), none.next), (vec![], None));
}

fn jobs_are_filtered(p: &mut Probe<'_>) {
    let plain = p.enqueue(job());
    let other_kind = p.enqueue(NewJob { kind: kind("other"), ..job() });
    let other_queue = p.enqueue(NewJob { queue: queue("r"), ..job() });
    let commit = Commit { jobs: vec![job()], ..p.call("thing/a") };
    let owned = p.commit(commit).jobs[0].job();
    p.claims(1, &[plain]);
    let all = JobFilter { limit: 10, ..JobFilter::default() };
    let running = page(p, JobFilter { state: Some(JobState::Running), ..all.clone() });
    assert_eq!(ids(&running), [plain]);
    assert_eq!(ids(&page(p, JobFilter { kind: Some(kind("other")), ..all.clone() })), [other_kind]);
    assert_eq!(ids(&page(p, JobFilter { queue: Some(queue("r")), ..all.clone() })), [other_queue]);
    assert_eq!(ids(&page(p, JobFilter { owner: Some(object("thing/a")), ..all.clone() })), [owned]);
    let both = JobFilter { queue: Some(queue("q")), state: Some(JobState::Ready), ..all };
    assert_eq!(ids(&page(p, JobFilter { limit: 1, ..both.clone() })), [owned]);
    let rest = page(p, JobFilter { before: Some(owned), ..both });
    assert_eq!((ids(&rest), rest.next), (vec![other_kind], None));
}

fn jobs_are_filtered_by_key_and_time(p: &mut Probe<'_>) {
    let keyed = |key: &str| NewJob { unique_key: Some(UniqueKey::trusted(key)), ..job() };
    let began = p.now;
    let limited = NewJob { limit_keys: vec![limit_key("host:a"), limit_key("host:b")], ..keyed("a/1") };
    let first = p.enqueue(limited);
    p.pass(10);
    let second = p.enqueue(keyed("a/2"));
    let third = p.enqueue(keyed("b/1"));
    p.pass(10);
    let fourth = p.enqueue(NewJob { limit_keys: vec![limit_key("host:b")], ..job() });
    let all = JobFilter { limit: 10, ..JobFilter::default() };
    let of_key = |key: &str| JobFilter { limit_key: Some(limit_key(key)), ..all.clone() };
    assert_eq!(ids(&page(p, of_key("host:a"))), [first]);
    assert_eq!(ids(&page(p, of_key("host:b"))), [fourth, first]);
    assert_eq!(ids(&page(p, of_key("host:"))), []);
    let starting = |prefix: &str| JobFilter { unique_prefix: Some(prefix.to_owned()), ..all.clone() };
    assert_eq!(ids(&page(p, starting("a/"))), [second, first]);
    assert_eq!(ids(&page(p, starting(""))), [third, second, first], "those that have a key at all");
    let range = |from: i64, until: i64| TimeRange { from: began.plus_ms(from), until: began.plus_ms(until) };
    let created = |created| JobFilter { created, ..all.clone() };
    assert_eq!(ids(&page(p, created(range(0, 10)))), [first]);
    assert_eq!(ids(&page(p, created(range(1, 20)))), [third, second]);
    assert_eq!(ids(&page(p, created(range(21, 99)))), []);
    let lease = p.claims(1, &[first]).remove(0);
    p.finish(&lease, done());
    let finished = |finished| JobFilter { finished, ..all.clone() };
    assert_eq!(ids(&page(p, finished(range(20, 21)))), [first]);
    assert_eq!(ids(&page(p, finished(range(0, 20)))), []);
    let over = JobFilter { state: Some(JobState::Done), queue: Some(queue("q")), ..finished(range(20, 21)) };
    assert_eq!(ids(&page(p, over.clone())), [first]);
    assert_eq!(ids(&page(p, JobFilter { state: Some(JobState::Ready), ..over.clone() })), []);
    assert_eq!(ids(&page(p, JobFilter { finished: TimeRange::default(), ..over })), [first]);
}

fn large_jobs_make_short_pages(p: &mut Probe<'_>) {
    let quarter = PAGE_BYTES / 4;
    let payload = |bytes: usize| Json::from(Value::from("x".repeat(bytes - 2)));
    let mut enqueue = |bytes| p.enqueue(NewJob { payload: payload(bytes), ..job() });
    let (first, small) = (enqueue(PAGE_BYTES + 1), enqueue(9));
    let mut fit: Vec<JobId> = [quarter; 4].into_iter().map(enqueue).collect();
    fit.reverse();
    let all = JobFilter { limit: 10, ..JobFilter::default() };
    let newest = page(p, all.clone());
    assert_eq!((ids(&newest), newest.next), (fit.clone(), fit.last().copied()));
    let rest = page(p, JobFilter { before: newest.next, ..all.clone() });
    assert_eq!((ids(&rest), rest.next), (vec![small], Some(small)));
    let last = page(p, JobFilter { before: rest.next, ..all });
    assert_eq!((ids(&last), last.next), (vec![first], None), "one is always given");
}

fn an_object_is_shown_with_its_alarms(p: &mut Probe<'_>) {
    let created_at = p.now;
    let set = |name: &str, at| AlarmWrite::Set { name: alarm_name(name), at };
    let (soon, late) = (p.now.plus_ms(1), p.now.plus_ms(2));
    let commit = Commit { alarms: vec![set("b", late), set("a", soon)], ..p.call("thing/a") };
    p.commit(commit);
    p.pass(10);
    let commit = p.call("thing/a");
    p.commit(commit);
    let expected = ObjectView {
        object: object("thing/a"),
        incarnation: p.life_of("thing/a"),
        version: Version(2),
        log_head: Seq(0),
        created_at,
        updated_at: p.now,
        alarms: vec![(alarm_name("a"), soon), (alarm_name("b"), late)],
    };
    assert_eq!(p.read(Read::Object(object("thing/a"))), Answer::Object(Some(expected.clone())));
    assert_eq!(p.read(Read::Object(object("thing/b"))), Answer::Object(None));
    let many = |n: usize| set(&format!("{n:04}"), late);
    let commit = Commit { alarms: (0..=PAGE_ITEMS).map(many).collect(), ..p.call("thing/c") };
    p.commit(commit);
    let shown = answer!(p.read(Read::Object(object("thing/c"))), Answer::Object(Some(view)) => view.alarms);
    assert_eq!((shown.len(), &shown[0].0), (PAGE_ITEMS, &alarm_name("0000")), "no more than a page has");
    let listed = Read::Objects { kind: None, after: None, limit: 1 };
    assert_eq!(p.read(listed), Answer::Objects(vec![ObjectView { alarms: vec![], ..expected }]));
}

fn objects_are_listed_by_kind_and_name(p: &mut Probe<'_>) {
    for name in ["thing/b", "thing/a", "other/z", "thing/B"] {
        p.make(name);
    }
    let list = |p: &mut Probe<'_>, kind: Option<&str>, after: Option<ObjectKey>, limit| {
        let read = Read::Objects { kind: kind.map(Kind::trusted), after, limit };
        let views = answer!(p.read(read), Answer::Objects(views) => views);
        views.into_iter().map(|view| view.object.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list(p, None, None, 9), "other/z thing/B thing/a thing/b");
    assert_eq!(list(p, None, None, 2), "other/z thing/B");
    assert_eq!(list(p, Some("thing"), None, 9), "thing/B thing/a thing/b");
    assert_eq!(list(p, Some("thing"), Some(object("thing/a")), 9), "thing/b");
    let before_all = ObjectKey { kind: Kind::trusted("a"), name: name("z") };
    assert_eq!(list(p, Some("thing"), Some(before_all), 1), "thing/B");
    assert_eq!(list(p, Some("none"), None, 9), "");
    let newest = |p: &mut Probe<'_>, limit| {
        let views = answer!(p.read(Read::NewestObjects { limit }), Answer::Objects(views) => views);
        views.into_iter().map(|view| view.object.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(newest(p, 9), "thing/B other/z thing/a thing/b");
    assert_eq!(newest(p, 2), "thing/B other/z");
}

fn limits_are_paged_by_key(p: &mut Probe<'_>) {
    for key in ["host:b", "host:a", "model:*"] {
        p.set_limit(key, concurrency(1));
    }
    let read = Read::Limits { after: Some(limit_key("host:a")), limit: 1 };
    let views = answer!(p.read(read), Answer::Limits(views) => views);
    assert_eq!(views.len(), 1);
    assert_eq!((&views[0].key, &views[0].policy), (&limit_key("host:b"), &Some(concurrency(1))));
    p.set(Write::SetLimit { key: limit_key("host:b"), policy: None });
    let keys: Vec<_> = p.limits().into_iter().map(|view| view.key.as_str().to_owned()).collect();
    assert_eq!(keys, ["host:a", "model:*"]);
}

fn workers_are_listed_by_id(p: &mut Probe<'_>) {
    let card = |id: &str| WorkerCard {
        worker: worker(id),
        life: None,
        queues: vec![queue("q"), queue("a")],
        kinds: vec![kind("k")],
        seen_at: Time(5),
    };
    p.set(Write::SetWorker(card("b")));
    p.set(Write::SetWorker(card("a")));
    p.pass(10);
    p.set(Write::SetWorker(card("b")));
    let seen = [(card("a"), p.now.plus_ms(-10)), (card("b"), p.now)];
    let expected = seen.map(|(card, seen_at)| WorkerCard { seen_at, ..card });
    assert_eq!(p.read(Read::Workers), Answer::Workers(expected.to_vec()));
}

fn a_reader_sees_what_was_written_before(p: &mut Probe<'_>) {
    let mut early = p.store.reader().expect("a reader");
    p.make("thing/a");
    let mut late = p.store.reader().expect("a reader");
    for reader in [&mut early, &mut late] {
        let answer = reader.read(p.now, &Read::Object(object("thing/a"))).expect("the store reads");
        assert!(matches!(answer, Answer::Object(Some(_))));
    }
    let late_now = p.now.plus_ms(60_000);
    early.read(late_now, &Read::Queues).expect("the store reads");
    assert_eq!(p.batch(&[]).at, p.now, "reading does not move the store's time");
}
