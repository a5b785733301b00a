//! Tickets: answers that come later.

use super::probe::{Probe, json, put, ticket};
use super::{answer, stories};
use crate::read::{Answer, Read};
use crate::view::TicketView;
use abide_core::commit::{Commit, Ending, TicketWrite};
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::ticket::{Resolution, Ticket};

stories![
    a_ticket_is_open_until_it_is_resolved,
    a_ticket_is_resolved_once,
    only_the_life_that_opened_a_ticket_resolves_it,
    an_open_ticket_of_a_deleted_object_is_gone,
    an_answer_given_with_the_last_turn_arrives,
    a_resolved_ticket_is_kept_for_a_day,
];

fn view(p: &mut Probe<'_>, ticket: Ticket) -> Option<TicketView> {
    answer!(p.read(Read::Ticket(ticket)), Answer::Ticket(view) => view)
}

fn write(p: &mut Probe<'_>, name: &str, tickets: Vec<TicketWrite>) {
    let commit = Commit { tickets, ..p.call(name) };
    p.commit(commit);
}

fn reply(text: &str) -> Resolution {
    Resolution::Reply(json(text))
}

fn a_ticket_is_open_until_it_is_resolved(p: &mut Probe<'_>) {
    assert_eq!(view(p, ticket(1)), None);
    write(p, "thing/a", vec![TicketWrite::Open(ticket(1))]);
    assert!(p.header("thing/a").is_some(), "an open ticket is state");
    assert_eq!((view(p, ticket(1)), p.woken.tickets.clone()), (Some(TicketView::Open), vec![]));
    write(p, "thing/a", vec![TicketWrite::Resolve(ticket(1), reply("1"))]);
    assert_eq!(p.woken.tickets, [(ticket(1), reply("1"))]);
    assert_eq!(p.woken.prune_at, Some(p.now.plus_ms(REPLY_KEPT_MS)));
    assert_eq!(view(p, ticket(1)), Some(TicketView::Resolved(reply("1"))));
    let both = vec![TicketWrite::Open(ticket(2)), TicketWrite::Resolve(ticket(2), reply("2"))];
    write(p, "thing/a", both);
    assert_eq!(view(p, ticket(2)), Some(TicketView::Resolved(reply("2"))));
}

fn a_ticket_is_resolved_once(p: &mut Probe<'_>) {
    let refused = Resolution::Refused { code: "busy".into(), message: "Come back".into() };
    write(p, "thing/a", vec![TicketWrite::Open(ticket(1))]);
    write(p, "thing/a", vec![TicketWrite::Resolve(ticket(1), refused.clone())]);
    write(p, "thing/a", vec![TicketWrite::Resolve(ticket(1), reply("2"))]);
    assert_eq!(p.woken.tickets, []);
    assert_eq!(view(p, ticket(1)), Some(TicketView::Resolved(refused)));
    write(p, "thing/a", vec![TicketWrite::Resolve(ticket(9), reply("1"))]);
    assert_eq!((view(p, ticket(9)), p.woken.tickets.clone()), (None, vec![]));
    write(p, "thing/a", vec![TicketWrite::Open(ticket(1))]);
    assert_ne!(view(p, ticket(1)), Some(TicketView::Open), "opening it again changes nothing");
}

fn only_the_life_that_opened_a_ticket_resolves_it(p: &mut Probe<'_>) {
    write(p, "thing/a", vec![TicketWrite::Open(ticket(1))]);
    p.make("thing/b");
    write(p, "thing/b", vec![TicketWrite::Resolve(ticket(1), reply("1"))]);
    assert_eq!((view(p, ticket(1)), p.woken.tickets.clone()), (Some(TicketView::Open), vec![]));
}

fn an_open_ticket_of_a_deleted_object_is_gone(p: &mut Probe<'_>) {
    write(p, "thing/a", vec![TicketWrite::Open(ticket(2)), TicketWrite::Open(ticket(1))]);
    write(p, "thing/a", vec![TicketWrite::Resolve(ticket(2), reply("2"))]);
    p.delete("thing/a");
    assert_eq!(p.woken.tickets, [(ticket(1), Resolution::Gone)]);
    assert_eq!(view(p, ticket(1)), Some(TicketView::Resolved(Resolution::Gone)));
    assert_eq!(view(p, ticket(2)), Some(TicketView::Resolved(reply("2"))));
}

fn an_answer_given_with_the_last_turn_arrives(p: &mut Probe<'_>) {
    write(p, "thing/a", vec![TicketWrite::Open(ticket(1))]);
    let tickets = vec![TicketWrite::Resolve(ticket(1), reply("1")), TicketWrite::Open(ticket(2))];
    let commit = Commit { tickets, rows: vec![put("x", "1")], ending: Ending::Deleted, ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!(p.woken.tickets, [(ticket(1), reply("1")), (ticket(2), Resolution::Gone)]);
    assert_eq!(view(p, ticket(1)), Some(TicketView::Resolved(reply("1"))));
    assert_eq!(view(p, ticket(2)), Some(TicketView::Resolved(Resolution::Gone)));
    let tickets = vec![TicketWrite::Open(ticket(3))];
    let commit = Commit { tickets, ending: Ending::Deleted, ..p.call("thing/b") };
    p.commit(commit);
    assert_eq!(view(p, ticket(3)), Some(TicketView::Resolved(Resolution::Gone)), "of a life that never was");
}

fn a_resolved_ticket_is_kept_for_a_day(p: &mut Probe<'_>) {
    write(p, "thing/a", vec![TicketWrite::Open(ticket(1)), TicketWrite::Open(ticket(2))]);
    write(p, "thing/a", vec![TicketWrite::Resolve(ticket(1), reply("1"))]);
    p.pass(REPLY_KEPT_MS - 1);
    assert!(view(p, ticket(1)).is_some());
    p.pass(1);
    assert_eq!((view(p, ticket(1)), view(p, ticket(2))), (None, Some(TicketView::Open)));
}
