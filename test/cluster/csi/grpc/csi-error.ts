import type { status } from '@grpc/grpc-js';

export type CsiCode = Exclude<keyof typeof status, number>;

/** A response of the driver with a gRPC status other than OK. Sidecars and kubelet depend on the code. */
export class CsiError extends Error {
  readonly code: CsiCode;

  constructor(code: CsiCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CsiError';
    this.code = code;
  }
}
