//! `monolith corpus adapters`: recorded responses of a file, judged one by one. Holds no more than a table of counts.

use super::args::CorpusAdaptersArgs;
use super::render::verdicts_text;
use crate::context::app::App;
use monolith_conformance::{RecordFault, RecordLines, RecordsReadError, VerdictTable};
use monolith_host::store::open_given;
use monolith_service::error::ServiceError;
use monolith_service::error::corpus::CorpusFault;
use monolith_service::exit::Exit;
use monolith_service::text::numbers::counted;

/// Number of records that are judged between two updates of the screen.
const STRIDE: usize = 64;
/// Number of faulty lines that are shown; the others are counted.
const SHOWN_FAULTS: usize = 20;

/// `monolith corpus adapters`: the rows are written as they come, so memory does not grow with the file.
pub(crate) fn adapters(app: &App, args: &CorpusAdaptersArgs) -> Result<Exit, ServiceError> {
    let screen = app.screen;
    let unreadable = |reason: String| CorpusFault::RecordsUnreadable {
        path: args.file.clone(),
        reason,
    };
    let file = open_given(&app.cwd.join(&args.file)).map_err(|f| unreadable(f.to_string()))?;
    let lines = RecordLines::of(file, !args.no_strict)
        .map_err(|fault| unreadable(fault.source.to_string()))?;
    let mut tally = Tally::default();
    if args.json {
        screen.out_json_text("{\"records\":[")?;
    }
    for line in lines {
        match line {
            Ok(Ok(record)) => {
                if args.json {
                    let comma = if tally.records == 0 { "" } else { "," };
                    let row = serde_json::to_string(&record).map_err(std::io::Error::from)?;
                    screen.out_json_text(&format!("{comma}\n{row}"))?;
                }
                tally.records += 1;
                tally.table.count(&record);
            }
            Ok(Err(fault)) => tally.fault(&fault),
            Err(fault) => tally.broken = Some(fault),
        }
        if tally.records.is_multiple_of(STRIDE) && screen.redraws() {
            screen.write_err(&format!("\r\u{1b}[2K{} judged", tally.counts()));
        }
    }
    if screen.redraws() {
        screen.write_err("\r\u{1b}[2K");
    }
    let rows = tally.table.rows();
    if args.json {
        let table = serde_json::to_string(&rows).map_err(std::io::Error::from)?;
        screen.out_json_text(&format!("\n],\"table\":{table}}}\n"))?;
    } else {
        screen.out(&verdicts_text(screen, &rows, tally.records))?;
    }
    tally.verdict(args)
}

/// The tally so far.
#[derive(Debug, Default)]
struct Tally {
    broken: Option<RecordsReadError>,
    faults: Vec<RecordFault>,
    more_faults: usize,
    records: usize,
    table: VerdictTable,
}

impl Tally {
    fn fault(&mut self, fault: &RecordFault) {
        if self.faults.len() < SHOWN_FAULTS {
            self.faults.push(fault.clone());
        } else {
            self.more_faults += 1;
        }
    }

    fn counts(&self) -> String {
        counted(self.records, "record")
    }

    /// Every line must have been judged; what could not be is named, whatever was.
    fn verdict(self, args: &CorpusAdaptersArgs) -> Result<Exit, ServiceError> {
        if self.faults.is_empty() && self.broken.is_none() {
            return Ok(Exit::OK);
        }
        let path = args.file.clone();
        let mut faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        if self.more_faults > 0 {
            faults.push(format!("and {} more", counted(self.more_faults, "line")));
        }
        faults.extend(self.broken.map(|fault| fault.to_string()));
        Err(CorpusFault::RecordsNotJudged {
            path,
            faults: faults.join("; "),
        }
        .into())
    }
}
