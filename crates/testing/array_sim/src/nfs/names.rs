//! Names of a file of one host alone: each change happens once, however often its call is sent, and none that was
//! acknowledged is lost.

use super::{Failed, Host, Opened};
use nfs::v4::Status;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::open::{CreateHow, OpenHow};
use nfs_client::ClientError;

/// Name that the file has, of two; `None`: there is no file.
type Name = Option<usize>;

/// Possible names of the file.
pub(super) struct Names {
    /// Names that it may have.
    possible: Vec<Name>,
    /// After a failure, nothing is done until the next session.
    rests: bool,
}

impl Default for Names {
    fn default() -> Self {
        Self { possible: vec![None], rests: false }
    }
}

impl Host {
    fn name(&self, number: usize) -> String {
        format!("own-{}-{number}", self.index)
    }

    /// Creates, renames or removes the file, or tries to create it a second time.
    pub(super) async fn change_name(&self, opened: &Opened) -> Result<(), String> {
        let known = {
            let names = self.names.borrow();
            if names.rests { None } else { names.possible.first().copied() }
        };
        let Some(before) = known else { return Ok(()) };
        match before {
            None => self.change(opened, "creation", Some(0), self.create(opened, 0)).await,
            Some(number) => match self.random.below(3) {
                0 => self.change(opened, "removal", None, self.remove(opened, number)).await,
                1 => self.change(opened, "second creation", before, self.create_again(opened, number)).await,
                _ => self.change(opened, "renaming", Some(1 - number), self.rename(opened, number)).await,
            },
        }
    }

    async fn create(&self, opened: &Opened, number: usize) -> Result<(), ClientError> {
        let how = OpenHow::Create(CreateHow::Guarded(Fattr::new([Attribute::Mode(0o600)])));
        let share = &opened.share;
        let file = share.open(share.root(), &self.name(number), how).await?;
        share.close(file).await
    }

    /// A creation that has to fail.
    async fn create_again(&self, opened: &Opened, number: usize) -> Result<(), ClientError> {
        match self.create(opened, number).await {
            Err(ClientError::Status { status: Status::EXIST, .. }) => Ok(()),
            Ok(()) => Err(ClientError::Malformed("a file was created in place of another".to_owned())),
            Err(error) => Err(error),
        }
    }

    async fn remove(&self, opened: &Opened, number: usize) -> Result<(), ClientError> {
        opened.share.remove(opened.share.root(), &self.name(number)).await
    }

    async fn rename(&self, opened: &Opened, number: usize) -> Result<(), ClientError> {
        let root = opened.share.root();
        opened.share.rename((root, &self.name(number)), (root, &self.name(1 - number))).await
    }

    async fn change(
        &self,
        opened: &Opened,
        what: &str,
        after: Name,
        call: impl Future<Output = Result<(), ClientError>>,
    ) -> Result<(), String> {
        self.names.borrow_mut().possible.push(after);
        match self.answer(opened, &format!("{what} of its file"), call).await? {
            Ok(()) => self.names.borrow_mut().possible = vec![after],
            Err(Failed::Lost | Failed::Troubled) => self.names.borrow_mut().rests = true,
        }
        Ok(())
    }

    /// Compares the names of the file with what is known, in a new session.
    pub(super) async fn check_names(&self, opened: &Opened) -> Result<(), String> {
        let mut found = Vec::new();
        for number in 0..2 {
            let name = self.name(number);
            let looking = async {
                match opened.share.lookup(&[&name]).await {
                    Ok(_) => Ok(true),
                    Err(ClientError::Status { status: Status::NOENT, .. }) => Ok(false),
                    Err(error) => Err(error),
                }
            };
            match self.answer(opened, &format!("LOOKUP of {name}"), looking).await? {
                Ok(true) => found.push(number),
                Ok(false) => {}
                Err(_) => {
                    self.names.borrow_mut().rests = true;
                    return Ok(());
                }
            }
        }
        let mut names = self.names.borrow_mut();
        let now = found.first().copied();
        if found.len() > 1 || !names.possible.contains(&now) {
            return Err(format!(
                "host {} of NFS: its file has the names {found:?}, and only {:?} are possible",
                self.index, names.possible
            ));
        }
        *names = Names { possible: vec![now], rests: false };
        Ok(())
    }
}
