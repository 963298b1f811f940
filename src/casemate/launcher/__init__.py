"""The trusted base: keeper, steps, room, zygote, template, init. Executed; only `spec` and `syscalls` are imported."""
