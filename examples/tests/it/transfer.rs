//! Accounts: no crash makes money or loses it.

use abide_core::commit::Outgoing;
use abide_core::log::Seq;
use abide_engine::testing::{Moment, World, minute};
use abide_examples::transfer::{Account, Ask, Balance, Message};

fn world() -> World {
    let mut world = World::new();
    world.object(Account);
    ask(&mut world, "ada", &Ask::Deposit(1_000));
    world
}

fn ask(world: &mut World, name: &str, ask: &Ask) -> Balance {
    world.call(&format!("account/{name}"), ask).unwrap()
}

fn pay_bob(cents: i64) -> Ask {
    Ask::Transfer { to: "bob".to_owned(), cents }
}

#[test]
fn the_money_leaves_one_account_and_arrives_in_the_other() {
    let mut world = world();
    let sent = ask(&mut world, "ada", &pay_bob(300));
    assert_eq!(sent, Balance { cents: 700, under_way: 300, payments: Seq(0) });
    let ada = ask(&mut world, "ada", &Ask::Balance);
    assert_eq!(ada, Balance { cents: 700, under_way: 0, payments: Seq(0) });
    let bob = ask(&mut world, "bob", &Ask::Balance);
    assert_eq!(bob, Balance { cents: 300, under_way: 0, payments: Seq(1) });
}

#[test]
fn the_payment_is_sent_by_the_commit_that_takes_the_money() {
    let mut world = world();
    ask(&mut world, "ada", &pay_bob(300));
    let [_deposit, transfer, ..] = world.commits() else { panic!("{:?}", world.commits()) };
    let [Outgoing { to, body, .. }] = transfer.messages.as_slice() else { panic!("{transfer:?}") };
    assert_eq!((to.to_string(), body.decode()), ("account/bob".to_owned(), Ok(Message::Paid(300))));
    assert_eq!(transfer.rows.len(), 2);
}

#[test]
fn a_crash_at_any_commit_moves_the_money_once_or_not_at_all() {
    for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
        let mut world = world();
        let calls = [world.begin_call("account/ada", &pay_bob(300), None)];
        world.crash_at_next_commit(moment);
        world.settle();
        assert_eq!(calls.map(|call| world.reply(call)), [None], "the caller was not told");
        world.pass(minute(1));
        let (ada, bob) = (ask(&mut world, "ada", &Ask::Balance), ask(&mut world, "bob", &Ask::Balance));
        let moved = if moment == Moment::BeforeItIsDurable { 0 } else { 300 };
        assert_eq!((ada.cents, ada.under_way, bob.cents), (1_000 - moved, 0, moved), "{moment:?}");
    }
}

#[test]
fn more_than_there_is_cannot_be_paid() {
    let mut world = world();
    for cents in [1_001, -1] {
        let refused = world.call::<Balance>("account/ada", &pay_bob(cents)).unwrap_err();
        assert_eq!(refused.to_string(), format!("cannot_pay: {cents} cents cannot be paid"));
    }
    assert_eq!(ask(&mut world, "ada", &Ask::Balance).cents, 1_000);
}
