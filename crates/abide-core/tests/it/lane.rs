//! Who parks and who is offered.

use abide_core::lane::{Lane, OFFERED};
use abide_core::limit::{Blocked, Room};

const FULL: Room = Room::Full(Blocked::Concurrency { limit: 1 });

#[test]
fn a_job_parks_where_there_is_no_room_or_somebody_waits() {
    let table = [
        (0, 0, FULL, true),
        (5, 0, FULL, true),
        (0, 0, Room::For(1), false),
        (1, 0, Room::For(1), true),
        (1, 0, Room::For(2), false),
        (0, 1, Room::For(9), true),
        (9, 0, Room::For(u32::MAX), false),
    ];
    for (offered, parked, room, must_park) in table {
        assert_eq!(Lane { offered, parked }.must_park(room), must_park, "{offered} {parked} {room:?}");
    }
}

#[test]
fn the_first_who_waits_is_offered_while_there_is_room() {
    let table = [
        (0, 0, Room::For(1), false),
        (0, 1, Room::For(1), true),
        (1, 1, Room::For(1), false),
        (1, 1, Room::For(2), true),
        (0, 1, FULL, false),
        (OFFERED - 1, 1, Room::For(u32::MAX), true),
        (OFFERED, 1, Room::For(u32::MAX), false),
    ];
    for (offered, parked, room, should_offer) in table {
        assert_eq!(Lane { offered, parked }.should_offer(room), should_offer, "{offered} {parked} {room:?}");
    }
}

#[test]
fn after_a_refill_nobody_waits_at_a_limit_with_room() {
    for parked in 0..5 {
        for offered in 0..5 {
            for starts in 1..5 {
                let mut lane = Lane { offered, parked };
                while lane.should_offer(Room::For(starts)) {
                    lane = Lane { offered: lane.offered + 1, parked: lane.parked - 1 };
                }
                assert!(lane.parked == 0 || lane.offered >= 1, "{lane:?}");
            }
        }
    }
}
