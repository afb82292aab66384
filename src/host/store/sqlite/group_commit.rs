//! The writer thread: it takes requests from a queue and commits those that wait together. What a request does is its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::store::StoreError;

/// Maximum number of requests in one commit.
const MAX_BATCH: usize = 512;

/// One request on its way to the writer.
pub(super) struct Job {
    /// True if it must not share its transaction with others.
    pub(super) alone: bool,
    pub(super) work: Box<dyn Work>,
}

pub(super) trait Work: Send {
    /// Does the statements, inside the open transaction.
    fn perform(&mut self, conn: &Connection) -> Result<(), StoreError>;
    /// Answers, once it is known what became of the transaction.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

/// A request whose caller waits for a typed answer.
pub(super) struct Request<T, F> {
    pub(super) answer: Option<T>,
    pub(super) perform: Option<F>,
    pub(super) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnOnce(&Connection) -> Result<T, StoreError> + Send> Work for Request<T, F> {
    fn perform(&mut self, conn: &Connection) -> Result<(), StoreError> {
        let perform = self.perform.take().ok_or(StoreError::Closed)?;
        self.answer = Some(perform(conn)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        let answer = match (failed, self.answer) {
            (None, Some(answer)) => Ok(answer),
            (failed, _) => Err(failed.unwrap_or(StoreError::Closed)),
        };
        // A caller that no longer waits finds out from the store itself.
        drop(self.reply.send(answer));
    }
}

/// The writer thread's own: the connection, and what it does with requests.
pub(super) struct Writer<C> {
    pub(super) commit: C,
    /// Number of committed transactions.
    pub(super) commits: Arc<AtomicU64>,
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    /// The fault after which nothing is written any more.
    pub(super) poison: Arc<OnceLock<String>>,
    pub(super) requests: mpsc::Receiver<Job>,
}

impl<C: Fn(&Connection) -> rusqlite::Result<()>> Writer<C> {
    /// Answers requests until no sender is left.
    pub(super) fn run(&mut self) {
        let mut next = self.requests.blocking_recv();
        while let Some(job) = next.take() {
            let mut left_over = None;
            if let Some(cause) = self.poison.get().cloned() {
                job.work.answer(Some(StoreError::Poisoned { cause }));
            } else {
                left_over = self.group(job);
            }
            next = left_over.or_else(|| self.requests.blocking_recv());
        }
        self.close();
    }

    /// Takes the log of writes into the file, if no other connection hinders it. SQLite does so when the last connection is closed, but not where that is one
    /// that only reads; and what is left beside the file cannot be read from where nothing may be written.
    fn close(&self) {
        if self.poison.get().is_some() {
            return;
        }
        // Whatever hinders it, the log stays and holds all of it.
        drop(self.conn.busy_timeout(Duration::ZERO));
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        drop(self.conn.query_row(checkpoint, [], |_| Ok(())));
    }

    /// Commits `first` and whatever else is waiting as one transaction; returns a request that wants its own.
    fn group(&mut self, first: Job) -> Option<Job> {
        let mut done: Vec<Box<dyn Work>> = Vec::new();
        let mut left_over = None;
        let mut next = Some(first);
        let mut fate = self.sql("BEGIN IMMEDIATE");
        while let Some(job) = next.take() {
            let alone = job.alone;
            let mut work = job.work;
            if fate.is_ok() {
                let is_first = done.is_empty();
                let performed = if is_first {
                    work.perform(&self.conn)
                } else {
                    self.perform_beside(work.as_mut())
                };
                match performed {
                    Ok(()) => done.push(work),
                    Err(fault) if self.conn.is_autocommit() => {
                        // SQLite has rolled everything back, the requests before this one included.
                        work.answer(Some(fault.clone()));
                        fate = Err(fault);
                    }
                    Err(fault) => {
                        work.answer(Some(fault));
                        if is_first {
                            fate = self
                                .sql("ROLLBACK")
                                .and_then(|()| self.sql("BEGIN IMMEDIATE"));
                        }
                    }
                }
            } else {
                done.push(work);
            }
            if alone || fate.is_err() || done.len() >= MAX_BATCH {
                break;
            }
            match self.requests.try_recv() {
                Ok(job) if job.alone => left_over = Some(job),
                Ok(job) => next = Some(job),
                Err(_) => {}
            }
        }
        let fate = fate.and_then(|()| {
            (self.commit)(&self.conn).map_err(|fault| StoreError::from_sql(&self.path, &fault))
        });
        if let Err(fault) = &fate {
            if !self.conn.is_autocommit() {
                drop(self.sql("ROLLBACK"));
            }
            if fault.poisons() {
                // The first fault is the cause.
                let _ = self.poison.set(fault.to_string());
            }
        }
        if fate.is_ok() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        for work in done {
            work.answer(fate.as_ref().err().cloned());
        }
        left_over
    }

    /// A further request inside the transaction; where it fails, it alone is undone. The first needs no savepoint: its failure undoes all
    /// that there is.
    fn perform_beside(&self, work: &mut dyn Work) -> Result<(), StoreError> {
        self.sql("SAVEPOINT request")?;
        let done = work.perform(&self.conn);
        if done.is_err() && !self.conn.is_autocommit() {
            self.sql("ROLLBACK TO request")?;
        }
        if !self.conn.is_autocommit() {
            self.sql("RELEASE request")?;
        }
        done
    }

    fn sql(&self, statement: &str) -> Result<(), StoreError> {
        self.conn
            .prepare_cached(statement)
            .and_then(|mut prepared| prepared.execute([]))
            .map(|_| ())
            .map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }
}
