use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::lock::open_locked;
use super::read::{LineError, parse_line};
use super::{Record, StoreError};

/// How long a written line may wait for its sync to disk.
const SYNC_EVERY: Duration = Duration::from_millis(200);

/// The file of one cell, open and locked for writing. The lock goes with the value.
#[derive(Debug)]
pub struct CellFile {
    file: File,
    path: PathBuf,
    /// Bytes in the file, which nobody else writes.
    length: AtomicU64,
}

impl CellFile {
    /// Opens or creates the file, takes its lock, and moves a torn last line to `<file>.torn`.
    ///
    /// The second value is a warning about such a line.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process writes it; otherwise the system's word.
    pub fn open(path: PathBuf) -> Result<(Self, Option<String>), StoreError> {
        let file = open_locked(&path)?;
        let mut cell = Self {
            file,
            path,
            length: AtomicU64::new(0),
        };
        let warning = cell.mend_tail()?;
        let length = cell.file.metadata().map_err(cell.error("read"))?.len();
        cell.length = AtomicU64::new(length);
        Ok((cell, warning))
    }

    /// Where the file lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, action: &'static str) -> impl FnOnce(std::io::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |source| StoreError::Io {
            action,
            path,
            source,
        }
    }

    fn mend_tail(&mut self) -> Result<Option<String>, StoreError> {
        let length = self
            .file
            .seek(SeekFrom::End(0))
            .map_err(self.error("read"))?;
        let line = self.last_line(length).map_err(self.error("read"))?;
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        match parse_line(&line) {
            Ok(_) | Err(LineError::TooNew(_)) => {
                // A whole record that lost only its line end stays.
                if !line.ends_with(b"\n") {
                    self.file.write_all(b"\n").map_err(self.error("write"))?;
                }
                return Ok(None);
            }
            Err(LineError::Broken(_)) => {}
        }
        let aside = self.path.with_extension("jsonl.torn");
        let mut torn = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&aside)
            .map_err(self.error("write beside"))?;
        torn.write_all(line.trim_ascii_end())
            .and_then(|()| torn.write_all(b"\n"))
            .and_then(|()| torn.sync_data())
            .map_err(self.error("write beside"))?;
        self.file
            .set_len(length - line.len() as u64)
            .map_err(self.error("shorten"))?;
        Ok(Some(format!(
            "{}: the last line was torn; it was moved to {} and is asked again",
            self.path.display(),
            aside.display()
        )))
    }

    /// The last line with its line end, if it has one.
    fn last_line(&mut self, length: u64) -> std::io::Result<Vec<u8>> {
        const STEP: u64 = 64 * 1024;
        let mut line = Vec::new();
        let mut end = length;
        while end > 0 {
            let start = end.saturating_sub(STEP);
            let mut block = vec![0; usize::try_from(end - start).unwrap_or(0)];
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(&mut block)?;
            // Blank lines at the end belong to the last line.
            let blank = if line.iter().all(u8::is_ascii_whitespace) {
                block.len() - block.trim_ascii_end().len()
            } else {
                0
            };
            let found = block[..block.len() - blank]
                .iter()
                .rposition(|byte| *byte == b'\n');
            block.append(&mut line);
            if let Some(at) = found {
                block.drain(..=at);
                return Ok(block);
            }
            line = block;
            end = start;
        }
        Ok(line)
    }

    /// Adds a record to what is written next.
    fn encode(&self, record: &Record, lines: &mut Vec<u8>) -> Result<(), StoreError> {
        let whole = lines.len();
        serde_json::to_writer(&mut *lines, record).map_err(|error| {
            lines.truncate(whole);
            self.error("encode a sample for")(std::io::Error::other(error))
        })?;
        lines.push(b'\n');
        Ok(())
    }

    /// Appends records and waits until they are on disk.
    ///
    /// # Errors
    /// They could not be written.
    pub fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        for record in records {
            self.encode(record, &mut lines)?;
        }
        self.append_lines(&lines)?;
        self.sync()
    }

    /// Appends whole lines, each with its line end.
    pub(super) fn append_lines(&self, lines: &[u8]) -> Result<(), StoreError> {
        // One write for all: a kill tears at most the last line that gets through.
        let before = self.length.load(Ordering::Relaxed);
        (&self.file).write_all(lines).map_err(|source| {
            // Half a line must not stand before a later one.
            let _ = self.file.set_len(before);
            self.error("write")(source)
        })?;
        self.length
            .store(before + lines.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(self.error("sync"))
    }
}

/// How long the writer lets lines gather when they come in floods.
const GATHER: Duration = Duration::from_micros(200);

/// Lines that are written in one go, in bytes.
const LARGE: usize = 256 * 1024;

type Ack = oneshot::Sender<Result<(), StoreError>>;
type Line = (usize, Box<Record>, Ack);

/// Writes records of many cells: each line at once by one thread, the sync to disk in groups by another, so that no
/// reply waits for the disk.
#[derive(Debug)]
pub struct Recorder {
    inbox: Option<mpsc::Sender<Line>>,
    writer: Option<JoinHandle<()>>,
    syncer: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Recorder {
    /// Takes over the files; a record is addressed by the file's place in the list. `each` gets every record once it is
    /// written.
    #[must_use]
    pub fn start(files: Vec<CellFile>, each: impl FnMut(Box<Record>) + Send + 'static) -> Self {
        let (inbox, outbox) = mpsc::channel();
        let (written, to_sync) = mpsc::channel();
        let files = Arc::new(files);
        let syncing = Arc::clone(&files);
        let writer = std::thread::spawn(move || write_all(&files, &outbox, &written, each));
        let syncer = std::thread::spawn(move || sync_all(&syncing, &to_sync));
        Self {
            inbox: Some(inbox),
            writer: Some(writer),
            syncer: Some(syncer),
        }
    }

    /// Appends a record. When this returns, the line is with the operating system and survives a kill.
    ///
    /// # Errors
    /// The line could not be written.
    pub async fn append(&self, file: usize, record: Box<Record>) -> Result<(), StoreError> {
        let (ack, done) = oneshot::channel();
        self.inbox
            .as_ref()
            .ok_or(StoreError::WriterGone)?
            .send((file, record, ack))
            .map_err(|_| StoreError::WriterGone)?;
        done.await.map_err(|_| StoreError::WriterGone)?
    }

    /// Waits until everything is on disk.
    ///
    /// # Errors
    /// A sync failed.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.inbox = None;
        let written = self.writer.take().map(JoinHandle::join);
        let synced = self.syncer.take().map(JoinHandle::join);
        match (written, synced) {
            (Some(Ok(())), Some(Ok(result))) => result,
            _ => Err(StoreError::WriterGone),
        }
    }
}

/// Writes what has come meanwhile in one go, so that a burst of replies costs few calls of the system.
fn write_all(
    files: &[CellFile],
    outbox: &mpsc::Receiver<Line>,
    written: &mpsc::Sender<usize>,
    mut each: impl FnMut(Box<Record>),
) {
    let mut lines = Vec::new();
    let mut next = outbox.recv().ok();
    while let Some((file, record, ack)) = next.take() {
        lines.clear();
        let mut group = Vec::new();
        let mut add = |record: Box<Record>, ack: Ack| {
            let encoded = files[file].encode(&record, &mut lines);
            group.push((record, ack, encoded));
            lines.len() < LARGE
        };
        let mut room = add(record, ack);
        while room && next.is_none() {
            match outbox.try_recv() {
                Ok((other, record, ack)) if other == file => room = add(record, ack),
                Ok(line) => next = Some(line),
                Err(_) => break,
            }
        }
        let result = files[file].append_lines(&lines);
        let _ = written.send(file);
        let busy = group.len() > 1 || next.is_some();
        let large = lines.len() >= LARGE;
        for (record, ack, encoded) in group {
            let result = encoded.and_then(|()| result.as_ref().map_err(StoreError::again).copied());
            let mut kept = result.is_ok().then_some(record);
            // Whoever waits for a large record may bring the next, so it is let go first.
            if large && let Some(record) = kept.take() {
                each(record);
            }
            // The asker may be gone after an interrupt; the line is written all the same.
            let _ = ack.send(result);
            if let Some(record) = kept {
                each(record);
            }
        }
        if large {
            lines = Vec::new();
        }
        if busy && next.is_none() {
            // In a flood of replies a moment's wait gathers many into one write.
            std::thread::sleep(GATHER);
        }
        next = next.or_else(|| outbox.recv().ok());
    }
}

/// Syncs the files that were written to, at most once in [`SYNC_EVERY`] and at the end.
fn sync_all(files: &[CellFile], written: &mpsc::Receiver<usize>) -> Result<(), StoreError> {
    while let Ok(first) = written.recv() {
        let mut dirty = BTreeSet::from([first]);
        let until = Instant::now() + SYNC_EVERY;
        let left = || until.saturating_duration_since(Instant::now());
        while let Ok(file) = written.recv_timeout(left()) {
            dirty.insert(file);
        }
        for file in dirty {
            files[file].sync()?;
        }
    }
    Ok(())
}
