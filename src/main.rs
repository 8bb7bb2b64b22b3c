//! The program: everything is in the library.

/// Records are made on one thread and let go on another, where the system's allocator makes the two wait for each other.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    // The tensor library asks for the number of cores before each product, by reading the system's list of processors,
    // unless this variable is set. Each worker of the engine computes on one thread anyway.
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        #[expect(
            unsafe_code,
            reason = "no other thread runs yet, so none can read the environment meanwhile"
        )]
        // SAFETY: see the reason above.
        unsafe {
            std::env::set_var("RAYON_NUM_THREADS", "1");
        }
    }
    wheel::cli::main()
}
