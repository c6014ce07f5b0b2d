/**
 * True for an error of the kernel, for example about a missing or read-only directory; its message names the
 * path.
 */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}
