import type { status } from '@grpc/grpc-js';

export type CsiCode = Exclude<keyof typeof status, number>;

/** An answer of the driver that is a gRPC status other than OK; the sidecars and the kubelet act on the code. */
export class CsiError extends Error {
  readonly code: CsiCode;

  constructor(code: CsiCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CsiError';
    this.code = code;
  }
}
