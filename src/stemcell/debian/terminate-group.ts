/**
 * Sends SIGTERM to a process group, identified by its leader's process id. Ignores a group that has ended.
 */
export function terminateGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGTERM');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
