pub mod error; pub mod id; pub(crate) mod bits; pub mod text; pub mod sketch; pub(crate) mod index; pub(crate) mod store; pub use index::*;
pub use error::*; pub use id::*; pub use sketch::*; pub use text::*;
