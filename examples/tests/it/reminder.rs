//! Reminders, with months that pass at once.

use abide_core::commit::AlarmWrite;
use abide_core::log::Seq;
use abide_core::name::AlarmName;
use abide_engine::testing::{World, day, hour};
use abide_examples::reminder::{Ask, List, Rang, Reminders};
use abide_store::{Answer, Read};

fn world() -> World {
    let mut world = World::new();
    world.object(Reminders);
    world
}

fn remind(world: &mut World, text: &str, in_ms: i64) -> List {
    world.call("reminders/ada", &Ask::Remind { text: text.to_owned(), in_ms }).unwrap()
}

fn rang(world: &mut World) -> Vec<Rang> {
    let read = Read::Log { object: "reminders/ada".parse().unwrap(), after: Seq(0), limit: 100 };
    match world.read(read) {
        Answer::Log(page) => {
            page.unwrap().entries.iter().map(|entry| entry.value.decode().unwrap()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_rings_on_time_a_month_later_also_after_a_crash() {
    let mut world = world();
    remind(&mut world, "pay the rent", day(30));
    world.crash();
    world.pass(day(30) - 1);
    assert_eq!(rang(&mut world), []);
    world.pass(1);
    assert_eq!(rang(&mut world), [Rang { text: "pay the rent".to_owned(), late_ms: 0 }]);
}

#[test]
fn a_reminder_and_its_alarm_are_one_commit() {
    let mut world = world();
    remind(&mut world, "tea", hour(1));
    let [commit] = world.commits() else { panic!("one call, one commit") };
    let name = AlarmName::new("000000000001").unwrap();
    assert_eq!(commit.alarms, [AlarmWrite::Set { name, at: world.now().plus_ms(hour(1)) }]);
    assert_eq!(commit.rows.len(), 2);
}

#[test]
fn each_rings_by_itself_and_one_that_is_forgotten_does_not() {
    let mut world = world();
    remind(&mut world, "later", hour(2));
    remind(&mut world, "never", hour(1));
    let list = remind(&mut world, "sooner", hour(1));
    assert_eq!(list.waiting.len(), 3);
    let (id, _) = list.waiting[1].clone();
    let name = AlarmName::new(&id).unwrap();
    let list: List = world.call("reminders/ada", &Ask::Forget { id }).unwrap();
    assert_eq!(list.waiting.len(), 2);
    assert_eq!(world.commits().last().unwrap().alarms, [AlarmWrite::Clear { name }]);
    world.pass(day(1));
    let texts: Vec<String> = rang(&mut world).into_iter().map(|rang| rang.text).collect();
    assert_eq!(texts, ["sooner", "later"]);
    let list: List = world.call("reminders/ada", &Ask::List).unwrap();
    assert_eq!(list, List { waiting: Vec::new(), rang: Seq(2) });
}
