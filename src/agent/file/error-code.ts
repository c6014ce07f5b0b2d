import { freeSpaceHint } from '../../errors/text.ts';

/** Returns the `code` of a system error (`ENOENT`, `EBUSY`, …), or undefined for any other value. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Returns the message of a thrown value. For a full file system of the VM it adds what to do. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const step = freeSpaceHint(error);
  return step === undefined ? error.message : `${error.message}; ${step}, in the VM`;
}
