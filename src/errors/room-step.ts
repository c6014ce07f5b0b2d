/** Returns the next step for a full file system, as a part of a sentence; undefined for any other error. */
export function roomStep(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return undefined;
  if (error.code === 'ENOSPC') return 'make room on the file system of that path';
  if (error.code === 'EDQUOT') return 'make room on the file system of that path, or have its quota raised';
  return undefined;
}
