import { redactor } from '../../../errors/redact/redactor.ts';

/** The reason why a mount or unmount failed. Driver and broker show it to developers. */
export type MountErrorCode =
  | 'ACCESS_DENIED'
  | 'BAD_CREDENTIALS'
  | 'NO_SUCH_SHARE'
  | 'LINK_IN_SHARE'
  | 'OTHER_SERVER'
  | 'UNREACHABLE'
  | 'NOT_SUPPORTED'
  | 'INVALID_OPTION'
  | 'TIMED_OUT'
  | 'NOT_SIGNED'
  | 'SECRET_UNAVAILABLE'
  | 'BUSY'
  | 'HELPER_FAILED'
  | 'FAILED';

/** A mount or an unmount that failed. */
export class MountError extends Error {
  readonly code: MountErrorCode;

  /** `message` is the advice for the code and the output of the program, without secrets. */
  constructor(code: MountErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MountError';
    this.code = code;
  }
}

interface FailureRule {
  readonly pattern: RegExp;
  readonly code: MountErrorCode;
  /** The advice for developers. */
  readonly advice: string;
}

const unreachable =
  'The file server cannot be reached from this machine: check the host name, the firewall and that the server runs';
const noShare = 'The server has no such share: check the name of the share and its path';
const tooOld =
  'The server does not speak this version of the protocol: choose another `version`, or leave it out';
const noAccess =
  'The server does not let this machine mount the share: check its name, and that the server exports it to this machine';
const credentials =
  'The server refused the user name and password, or this user may not use the share: correct username, password and domain';
const domain =
  'if the account is one of a domain of Windows, name that domain in the option `domain` of the binding';
const option =
  'The kernel or the server refused an option of the mount: check `version` and the other options';
const noHelper = 'This machine lacks the mount helper or the kernel module for this protocol; install it';

/**
 * EACCES of mount.cifs. It is also the error if the server looks for a domain account among its local
 * accounts.
 */
const accessDenied = /mount error\(13\)/u;

/**
 * Messages of mount(8), mount.nfs and mount.cifs in the C locale. mount.cifs prints error numbers of the
 * kernel.
 */
const mountFailureRules: readonly FailureRule[] = [
  {
    pattern: /rpc\.statd is not running/u,
    code: 'NOT_SUPPORTED',
    advice: 'NFS 3 needs rpc.statd on this machine; start it, or choose version 4.1',
  },
  {
    pattern: /access denied by server|reason given by server: (?:Permission denied|Operation not permitted)/u,
    code: 'ACCESS_DENIED',
    advice: noAccess,
  },
  {
    pattern: /reason given by server: No such file|mount error\((?:2|6)\)/u,
    code: 'NO_SUCH_SHARE',
    advice: noShare,
  },
  {
    pattern:
      /mount error\((?:13|126|127|128|129)\)|mount\.nfs: (?:Permission denied|Operation not permitted)/u,
    code: 'BAD_CREDENTIALS',
    advice: credentials,
  },
  {
    pattern:
      /protocol not supported|protocol is not supported|mount error\((?:93|95|112)\)|version mismatch/iu,
    code: 'NOT_SUPPORTED',
    advice: tooOld,
  },
  {
    pattern: /No such device|unknown filesystem type|helper program|mount error\(19\)/u,
    code: 'NOT_SUPPORTED',
    advice: noHelper,
  },
  {
    pattern:
      /No route to host|Connection (?:refused|timed out|reset)|Network is unreachable|Host is down|could not (?:resolve|connect)|Failed to resolve|Name or service not known|Resource temporarily unavailable|name resolution|RPC:|mount error\((?:101|104|110|111|113|115)\)/u,
    code: 'UNREACHABLE',
    advice: unreachable,
  },
  {
    pattern: /incorrect mount option|Invalid argument|bad option|mount error\(22\)/u,
    code: 'INVALID_OPTION',
    advice: option,
  },
  {
    pattern: /already mounted|busy/u,
    code: 'BUSY',
    advice: 'Something else is mounted there, or uses the folder',
  },
];

/** Messages of mount(8) about a directory below the root of a server. */
const directoryRules: readonly FailureRule[] = [
  {
    pattern: /Too many levels of symbolic links/u,
    code: 'LINK_IN_SHARE',
    advice: 'The path has a symbolic link on the server, which could lead anywhere; name the folder itself',
  },
  { pattern: /does not exist|No such file/u, code: 'NO_SUCH_SHARE', advice: noShare },
  {
    pattern: /not a directory/iu,
    code: 'NO_SUCH_SHARE',
    advice: 'The path is that of a file, or leads through one; name a folder',
  },
  { pattern: /Permission denied|Operation not permitted/u, code: 'ACCESS_DENIED', advice: noAccess },
];

const helperRules: readonly FailureRule[] = [
  {
    pattern: /permission denied|could not open source|access/iu,
    code: 'ACCESS_DENIED',
    advice:
      "The share's folder is closed to the mapped user: check uid and gid, and the folder's mode on the server",
  },
];

interface ProgramFailure {
  /** The share as an error names it: `//host/share`. */
  readonly share: string;
  readonly stderr: string;
  readonly wasKilled: boolean;
  /** Texts that are removed from the output of the program. */
  readonly secrets: readonly string[];
  /** True for an SMB user without a domain. */
  readonly lacksDomain?: boolean;
}

/** Returns the error for a failed mount, with the output of the program, without secrets. */
export function mountFailure(failure: ProgramFailure): MountError {
  return describe(failure, mountFailureRules, {
    code: 'FAILED',
    advice: 'The share was not mounted for a reason that this driver does not know',
  });
}

/** Returns the error for a directory below the root of its server or its export that could not be mounted. */
export function directoryFailure(failure: ProgramFailure): MountError {
  return describe(failure, directoryRules, {
    code: 'FAILED',
    advice: 'The folder was not mounted for a reason that this driver does not know',
  });
}

/** Returns the error for an id mapper that did not start. */
export function helperFailure(failure: ProgramFailure): MountError {
  return describe(failure, helperRules, {
    code: 'HELPER_FAILED',
    advice: 'The program that maps user ids did not start: check that /dev/fuse is there',
  });
}

function describe(
  failure: ProgramFailure,
  rules: readonly FailureRule[],
  other: Omit<FailureRule, 'pattern'>,
): MountError {
  const message = redactor(failure.secrets)(failure.stderr.trim()).replaceAll(/\s+/gu, ' ').slice(0, 500);
  const quoted = message === '' ? '' : ` (${message})`;
  if (failure.wasKilled)
    return new MountError(
      'TIMED_OUT',
      `${failure.share}: The server did not answer in time: check that it runs and can be reached${quoted}`,
    );
  const { code, advice } = rules.find(({ pattern }) => pattern.test(failure.stderr)) ?? other;
  const hint = failure.lacksDomain === true && accessDenied.test(failure.stderr) ? `; ${domain}` : '';
  return new MountError(code, `${failure.share}: ${advice}${hint}${quoted}`);
}
