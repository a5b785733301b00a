//! Rooms and members, one following the other.

use abide_core::log::Seq;
use abide_engine::CallError;
use abide_engine::testing::{Moment, World};
use abide_examples::chat::{Line, Member, Mention, Room, Tell};
use abide_store::{Answer, Read};

fn world() -> World {
    let mut world = World::new();
    world.object(Room);
    world.object(Member);
    world
}

fn say(world: &mut World, text: &str) -> Seq {
    world.call("room/lobby", &Line { who: "bob".to_owned(), text: text.to_owned() }).unwrap()
}

fn tell(world: &mut World, tell: &Tell) {
    world.call("member/ada", tell).unwrap()
}

fn mentioned_in_lines(world: &mut World) -> Vec<i64> {
    let read = Read::Log { object: "member/ada".parse().unwrap(), after: Seq(0), limit: 100 };
    let Answer::Log(Some(page)) = world.read(read) else { panic!("the member exists") };
    page.entries.iter().map(|entry| entry.value.decode::<Mention>().unwrap().seq.0).collect()
}

#[test]
fn lines_get_places_without_gaps() {
    let mut world = world();
    assert_eq!([say(&mut world, "one"), say(&mut world, "two")], [Seq(1), Seq(2)]);
    world.crash();
    assert_eq!(say(&mut world, "three"), Seq(3));
}

#[test]
fn a_member_reads_what_was_said_before_and_after_it_joined() {
    let mut world = world();
    say(&mut world, "@ada are you there?");
    tell(&mut world, &Tell::Join("lobby".to_owned()));
    say(&mut world, "nobody answers");
    say(&mut world, "@ada hello?");
    assert_eq!(mentioned_in_lines(&mut world), [1, 3]);
}

#[test]
fn each_line_is_read_once_whether_a_crash_took_the_joining_or_only_its_answer() {
    for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
        let mut world = world();
        say(&mut world, "@ada one");
        world.crash_at_next_commit(moment);
        let join = Tell::Join("lobby".to_owned());
        assert_eq!(world.call::<()>("member/ada", &join), Err(CallError::OutcomeUnknown));
        tell(&mut world, &join);
        say(&mut world, "@ada two");
        assert_eq!(mentioned_in_lines(&mut world), [1, 2], "{moment:?}");
    }
}

#[test]
fn a_member_that_left_reads_no_more() {
    let mut world = world();
    tell(&mut world, &Tell::Join("lobby".to_owned()));
    say(&mut world, "@ada one");
    tell(&mut world, &Tell::Leave("lobby".to_owned()));
    say(&mut world, "@ada two");
    assert_eq!(mentioned_in_lines(&mut world), [1]);
}
