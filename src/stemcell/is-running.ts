/** Whether there is a process of that id on this machine, whoever's it is. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: of another user, so it runs
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
