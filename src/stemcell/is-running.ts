/** Returns true if a process with this id runs on this machine, even if /proc hides it from this user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it belongs to another user, so it runs.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
