//! The `cbwk-gpu` command.

fn main() -> std::process::ExitCode {
    cbwk_gpu::cli::main()
}
