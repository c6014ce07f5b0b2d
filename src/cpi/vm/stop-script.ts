/**
 * Has PID 1 of a VM's container end, and with it the container. Systemd is told by SIGRTMIN+3 (signal 37), since TERM
 * only re-executes it (systemd(1)); it is PID 1 where /run/systemd/system is a directory (sd_booted(3)).
 */
export const stopScript = `if [ -d /run/systemd/system ]; then kill -37 1; else kill -TERM 1; fi
`;
