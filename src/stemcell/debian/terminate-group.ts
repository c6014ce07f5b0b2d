/**
 * Sends SIGTERM to a process group, by the id of the process that was started as its leader. One that is
 * gone has ended.
 */
export function terminateGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGTERM');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
