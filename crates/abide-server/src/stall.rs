//! A connection whose other side must take what it is sent.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream whose writes fail if none of them gets on for a while.
pub(crate) struct NoStall<S> {
    stream: S,
    /// How long the other side may take nothing of what it is sent.
    takes: Duration,
    /// Runs while a write waits.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<S> NoStall<S> {
    pub(crate) fn new(stream: S, takes: Duration) -> NoStall<S> {
        NoStall { stream, takes, patience: None }
    }

    /// What a write that gave `polled` gives.
    fn bounded<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.patience = None;
            return polled;
        }
        let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.takes)));
        patience.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for NoStall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for NoStall<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.bounded(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.bounded(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use super::NoStall;
    use std::io::ErrorKind;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_cut_off_and_another_is_not() {
        let (mut client, server) = tokio::io::duplex(16);
        let reads = tokio::spawn(async move {
            let mut taken = [0; 64];
            client.read_exact(&mut taken).await.map(|_| taken)
        });
        let mut stream = NoStall::new(server, Duration::from_secs(60));
        stream.write_all(&[1; 64]).await.unwrap();
        assert_eq!(reads.await.unwrap().unwrap(), [1; 64]);

        let (_silent, server) = tokio::io::duplex(16);
        let mut stream = NoStall::new(server, Duration::from_millis(20));
        assert_eq!(stream.write_all(&[1; 64]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
