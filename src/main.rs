//! The program: everything is in the library.

fn main() -> std::process::ExitCode {
    wheel::cli::main()
}
