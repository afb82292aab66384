//! The surface that every command works in: the service, the screen, and what is asked and shown. Opens nothing.

use std::ops::Deref;

use super::accounting::AccountingArgs;
use crate::ui::screen::Screen;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::service::Service;

/// The service with the screen of this process. It stands for its service wherever one is wanted.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// Reports of a run beside its result.
    pub(crate) accounting: AccountingArgs,
    /// True if the person at the terminal is asked questions.
    pub(crate) asks: bool,
    pub(crate) screen: Screen,
    pub(crate) service: Service,
    /// True if an answer is shown while it arrives.
    pub(crate) streams: bool,
}

impl Deref for App {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl App {
    /// Does work that reads a contract file. If its files need trust, the person is asked, and the work is done again.
    pub(crate) fn trusting_file<T>(
        &self,
        file: impl FnOnce() -> Result<Option<ContractFile>, ServiceError>,
        work: impl Fn() -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        match work() {
            Err(ServiceError::Contract(ContractFault::Untrusted(found))) => {
                let Some(file) = file()? else {
                    return Err(ContractFault::Untrusted(found).into());
                };
                self.read_contract(&file)?;
                work()
            }
            done => done,
        }
    }

    /// Like this, but asks nobody: many runs are driven at once.
    pub(crate) fn without_questions(&self) -> Self {
        Self {
            asks: false,
            ..self.clone()
        }
    }
}
