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
