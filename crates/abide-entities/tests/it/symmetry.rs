//! Parents and children know the same, whatever happens.

use crate::world::{append, ask, blob, create, get, id, world};
use abide_core::commit::Reply as Answered;
use abide_core::seed::Seed;
use abide_core::ticket::Resolution;
use abide_engine::machine::CallId;
use abide_engine::store::view::TicketView;
use abide_engine::testing::{Moment, World, hour};
use abide_entities::answer::{Made, Shown};
use abide_entities::request::{Append, Create, Selector};
use abide_entities::{Call, EntityId, Reply};

const ENTITIES: usize = 6;

#[test]
fn a_new_entity_with_a_parent_and_children_is_known_to_them() {
    let mut world = world(1);
    create(&mut world, &id(1), Create::default()).unwrap();
    create(&mut world, &id(3), Create::default()).unwrap();
    let given = Create { parent_pi: Some(id(1)), children_pi: vec![id(3)], ..Create::default() };
    let made = create(&mut world, &id(2), given).unwrap();
    assert_eq!((made.ver, made.children_updated, made.children_failed), (1, Some(1), Some(0)));
    assert_eq!(get(&mut world, &id(1)).children_pi, [id(2)]);
    assert_eq!(get(&mut world, &id(3)).parent_pi, Some(id(2)));
}

#[test]
fn a_child_that_does_not_exist_is_taken_back_in_a_new_version() {
    let mut world = world(1);
    let tip = create(&mut world, &id(1), Create::default()).unwrap().tip;
    create(&mut world, &id(2), Create::default()).unwrap();
    let both = Append { children_pi_add: vec![id(2), id(9)], ..Append::onto(tip) };
    let made = append(&mut world, &id(1), both).unwrap();
    assert_eq!((made.children_updated, made.children_failed, made.ver), (Some(1), Some(1), 3));
    assert_eq!(get(&mut world, &id(1)).tip, made.tip);
    assert_eq!(get(&mut world, &id(1)).children_pi, [id(2)]);
}

/// Whoever was told of another's version as its own would overwrite it without having seen it.
#[test]
fn an_answer_carries_the_version_that_its_call_made_whatever_others_make_meanwhile() {
    // The first world says which tip somebody sees who looks before the child has answered.
    let mut seen = None;
    for missing in [None, Some(id(9))] {
        for round in 0..2 {
            let mut world = world(1);
            let tip = create(&mut world, &id(1), Create::default()).unwrap().tip;
            create(&mut world, &id(2), Create::default()).unwrap();
            let children_pi_add = [id(2)].into_iter().chain(missing.clone()).collect();
            let adding = Call::Append(Box::new(Append { children_pi_add, ..Append::onto(tip) }));
            let parent = format!("entity/{}", id(1));
            let first = world.begin_call(&parent, &adding, None);
            let second = seen.filter(|_| round == 1).map(|tip| {
                let label = Some("somebody else's".to_owned());
                let append = Call::Append(Box::new(Append { label, ..Append::onto(tip) }));
                world.begin_call(&parent, &append, None)
            });
            world.settle();
            let made = later(&mut world, first);
            let version =
                |world: &mut World, ver| match ask(world, &id(1), &Call::Version(Selector::Ver(ver))) {
                    Ok(Reply::Shown(shown)) => shown.manifest_cid,
                    other => panic!("{other:?}"),
                };
            seen = Some(version(&mut world, 2));
            let Some(second) = second else {
                // Nobody else has a part in it: what was taken back is in the answer.
                let expected = if missing.is_some() { 3 } else { 2 };
                assert_eq!((made.ver, made.tip), (expected, get(&mut world, &id(1)).tip));
                continue;
            };
            assert!(matches!(world.reply(second), Some(Ok(_))));
            let shown = get(&mut world, &id(1));
            assert_eq!(
                (shown.label.as_deref(), &*shown.children_pi),
                (Some("somebody else's"), &[id(2)][..])
            );
            assert_eq!((made.ver, Some(made.tip), made.tip == shown.tip), (2, seen, false));
            assert_eq!(made.children_updated, Some(1));
        }
    }
}

/// The answer to a call that waited for others.
fn later(world: &mut World, call: CallId) -> Made {
    let Some(Ok(Answered::Later(ticket))) = world.reply(call) else { panic!("no ticket") };
    match world.ticket(&ticket) {
        Some(TicketView::Resolved(Resolution::Reply(reply))) => match reply.decode().unwrap() {
            Reply::Made(made) => made,
            other => panic!("{other:?}"),
        },
        other => panic!("a ticket with {other:?}"),
    }
}

/// Whoever deleted the parent has not heard of the child, and would leave it behind.
#[test]
fn who_is_created_as_a_child_of_nobody_goes_as_well() {
    let mut world = world(1);
    let components = [("a.txt".to_owned(), blob("a"))].into();
    let given = Create { parent_pi: Some(id(9)), components, ..Create::default() };
    let reply = ask(&mut world, &id(1), &Call::Create(Box::new(given.clone()))).unwrap();
    assert_eq!(reply, Reply::Deleted);
    assert!(ask(&mut world, &id(1), &Call::Get).is_err());
    // Once there is a parent, it is created as if nothing had been.
    create(&mut world, &id(9), Create::default()).unwrap();
    assert_eq!(create(&mut world, &id(1), given).unwrap().ver, 1);
    assert_eq!(get(&mut world, &id(9)).children_pi, [id(1)]);
    // One that has children of its own stays for them.
    let given = Create { parent_pi: Some(id(8)), children_pi: vec![id(1)], ..Create::default() };
    assert_eq!(create(&mut world, &id(2), given).unwrap().children_updated, Some(1));
    assert_eq!(get(&mut world, &id(2)).parent_pi, None);
    assert!(world.dead_letters().is_empty());
}

#[test]
fn a_child_that_moves_leaves_its_former_parent() {
    let mut world = world(1);
    let first = create(&mut world, &id(1), Create::default()).unwrap().tip;
    let second = create(&mut world, &id(2), Create::default()).unwrap().tip;
    create(&mut world, &id(3), Create::default()).unwrap();
    for (parent, tip) in [(id(1), first), (id(2), second)] {
        let adding = Append { children_pi_add: vec![id(3)], ..Append::onto(tip) };
        append(&mut world, &parent, adding).unwrap();
    }
    assert_eq!(get(&mut world, &id(3)).parent_pi, Some(id(2)));
    assert_eq!(get(&mut world, &id(2)).children_pi, [id(3)]);
    assert!(get(&mut world, &id(1)).children_pi.is_empty());
    let tip = get(&mut world, &id(2)).tip;
    append(&mut world, &id(2), Append { children_pi_remove: vec![id(3)], ..Append::onto(tip) }).unwrap();
    assert_eq!(get(&mut world, &id(3)).parent_pi, None);
}

/// Random creations, additions, removals and moves, several at a time, with crashes at commits; then everything comes to
/// rest and every link is known on both sides.
#[test]
fn at_rest_every_link_is_symmetric_and_versions_count_one_by_one() {
    for seed in 0..40 {
        let mut world = world(seed);
        let mut dice = Seed::new(seed);
        for _ in 0..30 {
            if dice.below(6) == 0 {
                let moment =
                    if dice.below(2) == 0 { Moment::BeforeItIsDurable } else { Moment::BeforeItIsAnswered };
                world.crash_at_next_commit(moment);
            }
            for _ in 0..=dice.below(3) {
                if let Some((object, call)) = act(&mut world, &mut dice) {
                    world.begin_call(&format!("entity/{object}"), &call, None);
                }
            }
            world.settle();
        }
        world.pass(hour(24));
        check(&mut world, seed);
    }
}

fn any(dice: &mut Seed) -> EntityId {
    id(dice.below(ENTITIES as u64) as usize)
}

fn other(dice: &mut Seed, than: &EntityId) -> EntityId {
    loop {
        let other = any(dice);
        if other != *than {
            return other;
        }
    }
}

/// Something that a client might do.
fn act(world: &mut World, dice: &mut Seed) -> Option<(EntityId, Call)> {
    let object = any(dice);
    let Some(tip) = tip(world, &object) else {
        let parent_pi = (dice.below(2) == 0).then(|| other(dice, &object));
        let child = Some(other(dice, &object)).filter(|child| parent_pi.as_ref() != Some(child));
        let children_pi = child.into_iter().filter(|_| dice.below(2) == 0).collect();
        return Some((
            object,
            Call::Create(Box::new(Create { parent_pi, children_pi, ..Create::default() })),
        ));
    };
    let (first, second) = (other(dice, &object), other(dice, &object));
    let append = match dice.below(4) {
        3 => return Some((object, Call::Delete { expect_tip: Some(tip) })),
        0 => Append { children_pi_add: vec![first], ..Append::onto(tip) },
        1 => Append { children_pi_remove: vec![first], ..Append::onto(tip) },
        _ => Append { children_pi_add: vec![first], children_pi_remove: vec![second], ..Append::onto(tip) },
    };
    Some((object, Call::Append(Box::new(append))))
}

fn tip(world: &mut World, object: &EntityId) -> Option<abide_entities::ContentId> {
    match ask(world, object, &Call::Resolve) {
        Ok(Reply::Resolved(resolved)) => Some(resolved.tip),
        Ok(other) => panic!("{other:?}"),
        Err(_) => None,
    }
}

fn check(world: &mut World, seed: u64) {
    assert_eq!(world.dead_letters(), [], "seed {seed}");
    let there: Vec<EntityId> = (0..ENTITIES).map(id).filter(|id| tip(world, id).is_some()).collect();
    let shown: Vec<Shown> = there.iter().map(|id| get(world, id)).collect();
    for entity in &shown {
        for other in &shown {
            let is_child = other.parent_pi.as_ref() == Some(&entity.id);
            let has_child = entity.children_pi.contains(&other.id);
            assert_eq!(is_child, has_child, "seed {seed}: {} and {}", entity.id, other.id);
        }
        assert!(
            entity.children_pi.iter().chain(&entity.parent_pi).all(|id| there.contains(id)),
            "seed {seed}"
        );
        let (mut ver, mut cid) = (entity.ver, Some(entity.manifest_cid));
        while let Some(at) = cid {
            let Reply::Shown(version) = ask(world, &entity.id, &Call::Version(Selector::Cid(at))).unwrap()
            else {
                panic!("no version")
            };
            assert_eq!(version.ver, ver, "seed {seed}");
            ver -= 1;
            cid = version.prev_cid;
        }
        assert_eq!(ver, 0, "seed {seed}");
    }
}
