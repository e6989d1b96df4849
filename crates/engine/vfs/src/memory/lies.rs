//! Lies: rules of the contract that the file system in memory breaks on demand, one at a time, so that
//! tests can show that the contract's tests notice.

macro_rules! lies {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Rule that is broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Lie {
            $($(#[$doc])* $name,)*
        }

        impl Lie {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

lies! {
    /// A change within the instant of the one before has its time.
    ChangeTimesRepeat,
    /// The state before a change is the one after it.
    BeforeIsAfter,
    /// A read raises the change value.
    AccessIsChange,
    /// Numbers of deleted files are given again.
    FileIdsRepeat,
    /// Names that differ in case are one name.
    NamesFoldCase,
    /// Nothing checks mode bits.
    ModeBitsIgnored,
    /// An open file is subject to mode bits.
    OpensAreNoRight,
    /// Set-id bits outlive a write by a user.
    SetIdOutlivesWrites,
    /// Cookies are positions in the listing.
    CookiesArePositions,
    /// A new entry does not change its directory.
    DirectoriesKeepTheirChange,
    /// A sub-directory does not count as a link.
    SubdirectoriesAreNoLinks,
    /// A second exclusive creation succeeds with any verifier.
    VerifiersIgnored,
    /// The creation of an existing file sets all attributes.
    ExistingFileIsReset,
    /// A file can have any number of links.
    LinksUnlimited,
    /// Changes happen whatever file the caller expects.
    ExpectationsIgnored,
    /// A directory with entries can be removed and replaced.
    FullDirectoriesGo,
    /// A file without a name is deleted although it is held.
    HoldsIgnored,
    /// A file without a name stays when its last hold ends.
    ReleasedFilesStay,
    /// A restart deletes files without a name.
    RestartDropsUnnamed,
    /// A rename from one name of a file to another removes the first.
    RenameToItselfUnlinks,
    /// A replaced file keeps its link.
    ReplacedFilesStay,
    /// A directory can be moved below itself.
    RenameMakesCycles,
    /// A moved directory keeps its parent, and the parents their links.
    MovedDirectoriesKeepParents,
    /// A failed change of attributes sets the mode.
    AttributesAreSetInPart,
    /// Guards are not compared.
    GuardsIgnored,
    /// A read that ends with the file does not say so.
    EndIsSeenOnlyBehind,
    /// A write of no bytes is a change.
    EmptyWritesCount,
    /// A write that finds no space has written its first block.
    FullPoolTearsWrites,
    /// Grains of zeros are stored.
    ZerosAreStored,
    /// Bytes behind the new end stay in the last grain.
    TailsStay,
    /// A grain that is cleared in part is freed.
    EdgesAreFreed,
    /// A seek finds the start of the grain before its own start.
    SeeksGoBack,
    /// Zeroing ends promises.
    ZeroEndsPromises,
    /// An allocation promises nothing.
    AllocationsPromiseNothing,
    /// Deallocation keeps promises.
    PromisesOutliveDeallocation,
    /// Deallocation of the end makes the file smaller.
    DeallocationCutsTheEnd,
    /// A file can be cloned over itself.
    OverlapsAccepted,
    /// A clone accepts any offset, and moves it to its grain.
    ClonesNeedNoAlignment,
    /// Holes of the source leave the destination as it was.
    ClonesSkipHoles,
    /// A clone needs space for all of its content.
    ClonesCopy,
    /// A clone changes the times of its source.
    ClonesTouchTheSource,
    /// A clone ends the promises of its source.
    PromiseOfOneSide,
    /// A copy clears the rest of its last grain.
    CopiesWipeTheRest,
    /// Space is said to be freed although others share it.
    SharedBytesAreFreed,
    /// Extended attributes are replaced whatever the call says.
    XattrsAreReplaced,
    /// Extended attributes are no change of the file.
    XattrsAreNoChange,
    /// The write verifier is the same after a restart.
    VerifierStays,
    /// A commit makes nothing durable.
    CommitsAreIgnored,
    /// Durable writes are not durable.
    DurableIsUnstable,
    /// Change values of lost changes are given again.
    ChangeValuesRepeat,
    /// Snapshots can be changed.
    SnapshotsAreWritable,
    /// A roll-back brings old change values back.
    RollBackRestoresChangeValues,
}
