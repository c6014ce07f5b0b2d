import { isAbsolute } from 'node:path';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { ErrorCode } from '../../errors/error-table.ts';
import { freeSpaceHint } from '../../errors/text.ts';
import { isProductError } from '../../errors/product-error.ts';

/**
 * Returns the text that a failed command prints: the message with its stable code, then the chain of causes
 * from the outermost to the innermost. A programmer error shows its stack, so that it can be reported; an
 * error of the machine, such as a full disk, does not.
 */
export function describeError(error: unknown): string {
  if (isProductError(error)) return [`${error.message} [${error.code}]`, ...causes(error)].join('\n');
  if (error instanceof ApiError) return describeApiError(error);
  if (isResourceError(error))
    return `The system rejected it: ${inDirectory(withStep(error, ', then run the same command again'), error)}`;
  if (error instanceof Error) return error.stack ?? error.message;
  return String(error);
}

/**
 * Adds the next step for errors that other credentials or another role fix, and the status code for the
 * others.
 */
function describeApiError({ code: status, reason, message }: ApiError): string {
  const text = `Kubernetes answered ${status} ${reason}: ${message}`;
  switch (status) {
    case 401:
      return withCode(
        `${text}; renew the token, the certificate or the login of the kubeconfig`,
        'KUBERNETES_UNAUTHORIZED',
      );
    case 403:
      return withCode(
        `${text}; grant that permission to the user of the kubeconfig, or name another kubeconfig with --kubeconfig`,
        'KUBERNETES_FORBIDDEN',
      );
    case 404:
      return withCode(text, 'KUBERNETES_NOT_FOUND');
    default:
      return withCode(text, 'KUBERNETES_API');
  }
}

const withCode = (text: string, code: ErrorCode): string => `${text} [${code}]`;

/** Errors about space, permissions, file descriptors and devices. */
const resourceErrorCodes = new Set([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EIO',
]);

/** Errors of a path that this user may not write. */
const writeErrorCodes = new Set(['EACCES', 'EPERM', 'EROFS']);

function isResourceError(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    'syscall' in error &&
    resourceErrorCodes.has((error as NodeJS.ErrnoException).code ?? '')
  );
}

/** Adds the working directory to a relative path, and the next step if this user may not write there. */
function inDirectory(text: string, { code = '', path }: NodeJS.ErrnoException): string {
  const place = path === undefined || isAbsolute(path) ? text : `${text} in '${process.cwd()}'`;
  return writeErrorCodes.has(code)
    ? withCode(
        `${place}; this user needs the permission to write there: run the command in another directory, or change its owner or mode`,
        'FILE_NOT_WRITABLE',
      )
    : place;
}

/** Returns the message, with the next step if the file system is full. */
function withStep(error: Error, more = ''): string {
  const step = freeSpaceHint(error);
  return step === undefined ? error.message : `${error.message}; ${step}${more}`;
}

/** Leaves out a cause that the message before it ends with, quotes or tells in other words already. */
function causes(error: Error): string[] {
  const lines: string[] = [];
  let shown = error.message;
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) {
    const text = withStep(cause);
    if (shown.includes(text) || isMissingFileOf(shown, cause)) continue;
    lines.push(`${'  '.repeat(lines.length + 1)}${text}`);
    shown = text;
  }
  return lines;
}

/** True if the error says that a file is missing, and the message has already said so of that file. */
function isMissingFileOf(message: string, { code, path }: NodeJS.ErrnoException): boolean {
  const saysSo = /\bthere is no\b|\bdoes not exist\b/iu.test(message);
  return code === 'ENOENT' && path !== undefined && message.includes(`'${path}'`) && saysSo;
}
