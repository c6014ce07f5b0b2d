/** Why a share was not mounted or unmounted. Driver and broker show them to developers. */
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

  /** `message`: the code's sentence and what the program said, without secrets. */
  constructor(code: MountErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MountError';
    this.code = code;
  }
}
