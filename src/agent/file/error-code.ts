import { roomStep } from '../../errors/room-step.ts';

/** The `code` of a system error (`ENOENT`, `EBUSY`, …), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The message of whatever was thrown, and what to do about a full file system of the VM. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const step = roomStep(error);
  return step === undefined ? error.message : `${error.message}; ${step}, in the VM`;
}
