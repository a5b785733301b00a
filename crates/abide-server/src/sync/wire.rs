//! The wire of a socket: messages in and out. It keeps no more memory than its largest frame took, so large messages go out
//! in several.

use abide_links::sync::limits::FRAME_BYTES;
use axum::body::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// What is read at a time: most frames are small, and there may be ten thousand sockets.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Bytes of a frame that goes out.
const PIECE_BYTES: usize = 4 * 1024;
/// How long closing may take.
const CLOSES: Duration = Duration::from_secs(1);
/// How long what a client still sends is read and thrown away.
const LINGERS: Duration = Duration::from_secs(5);
/// And how many bytes of it.
const LINGERS_BYTES: usize = 64 * 1024 * 1024;

/// The wire of one socket.
pub(crate) struct Wire(WebSocketStream<TokioIo<Upgraded>>);

impl Wire {
    pub(super) async fn new(upgraded: Upgraded) -> Wire {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(FRAME_BYTES))
            .max_frame_size(Some(FRAME_BYTES));
        Wire(WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await)
    }

    /// What comes next; none when the client has closed.
    pub(super) async fn recv(&mut self) -> Option<Result<Message, Error>> {
        self.0.next().await
    }

    /// Sends a small message. Whoever stops waiting for it has to give up the wire.
    pub(super) async fn send(&mut self, text: String) -> Result<(), Error> {
        self.0.send(Message::text(text)).await
    }

    /// Sends a message that is in parts. Whoever stops waiting for it has to give up the wire.
    pub(super) async fn send_parts(&mut self, parts: [&str; 3]) -> Result<(), Error> {
        if parts.iter().map(|part| part.len()).sum::<usize>() <= PIECE_BYTES {
            return self.send(parts.concat()).await;
        }
        let pieces: Vec<&str> = parts.into_iter().flat_map(pieces).collect();
        let mut kind = Data::Text;
        for (at, piece) in pieces.iter().enumerate() {
            let bytes = Bytes::copy_from_slice(piece.as_bytes());
            let frame = Frame::message(bytes, OpCode::Data(kind), at + 1 == pieces.len());
            self.0.send(Message::Frame(frame)).await?;
            kind = Data::Continue;
        }
        Ok(())
    }

    /// Asks for a sign of life.
    pub(super) async fn ping(&mut self) -> Result<(), Error> {
        self.0.send(Message::Ping(Bytes::new())).await
    }

    /// Says why it ends, and ends.
    pub(super) async fn close(mut self, frame: CloseFrame) {
        let code = frame.code;
        // The client may be gone already.
        drop(timeout(CLOSES, self.0.send(Message::Close(Some(frame)))).await);
        // What was not read when a connection ends makes the system throw away what was sent, also the reason.
        if matches!(code, CloseCode::Size | CloseCode::Protocol | CloseCode::Invalid | CloseCode::Unsupported)
        {
            // The client sees the end at once; what it still sends is read away.
            drop(timeout(CLOSES, self.0.get_mut().shutdown()).await);
            drop(timeout(LINGERS, self.read_away()).await);
        }
    }

    async fn read_away(&mut self) -> io::Result<()> {
        let (mut buffer, mut left) = ([0; 4 * 1024], LINGERS_BYTES);
        while left > 0 {
            match self.0.get_mut().read(&mut buffer).await? {
                0 => return Ok(()),
                read => left = left.saturating_sub(read),
            }
        }
        Ok(())
    }
}

/// A text in pieces of the size of a frame.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, left) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::{PIECE_BYTES, pieces};

    #[test]
    fn pieces_are_the_text_and_tear_no_letter() {
        for text in
            [String::new(), "a".repeat(3 * PIECE_BYTES), format!("a{}", "ä€😀".repeat(PIECE_BYTES / 2))]
        {
            let found: Vec<&str> = pieces(&text).collect();
            assert_eq!(found.concat(), text);
            assert!(found.iter().all(|piece| piece.len() <= PIECE_BYTES));
        }
    }
}
