//! Two people talk in a room; a reader follows live, and a member object notes where it is mentioned. Run it again on the
//! same directory: the room remembers what was said.

use abide_core::log::Seq;
use abide_core::object::ObjectKey;
use abide_engine::{Answer, Object, Registry};
use abide_examples::chat::{Line, Member, Mention, Room, Tell};
use abide_examples::{Home, call};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = Home::from_args()?;
    let mut registry = Registry::new();
    registry.object(Room)?;
    registry.object(Member)?;
    let engine = home.start(registry)?;

    call::<Member>(&engine, "ada", &Tell::Join("lobby".to_owned())).await?;
    let mut room = engine.follow(ObjectKey::new(Room::KIND, "lobby")?, Seq(0));
    let mut mentions = engine.follow(ObjectKey::new(Member::KIND, "ada")?, Seq(0));

    let (mut said, mut read) = (Seq(0), Seq(0));
    for (who, text) in [("bob", "good morning"), ("ada", "hello"), ("bob", "@ada coffee?")] {
        let line = Line { who: who.to_owned(), text: text.to_owned() };
        if let Answer::Now(seq) = call::<Room>(&engine, "lobby", &line).await? {
            said = seq;
        }
        while read < said {
            for entry in room.next().await? {
                let Line { who, text } = entry.value.decode()?;
                println!("{} {who}: {text}", entry.seq.0);
                read = entry.seq;
            }
        }
    }

    // The member reads along by itself: its own log says when it has come to the last line.
    let mut noted = Seq(0);
    while noted < said {
        for entry in mentions.next().await? {
            let Mention { room, seq, by } = entry.value.decode()?;
            println!("ada was mentioned by {by} in {room}, line {}", seq.0);
            noted = seq;
        }
    }

    engine.stop().await;
    Ok(())
}
