/** A request for a token of a service account: authentication.k8s.io/v1 TokenRequest. */
export interface TokenRequest {
  readonly spec: {
    readonly audiences?: readonly string[];
    readonly expirationSeconds?: number;
    readonly boundObjectRef?: {
      readonly kind: string;
      readonly apiVersion: string;
      readonly name: string;
      readonly uid?: string;
    };
  };
}

/** The response. It contains a secret: never log it. */
export interface IssuedToken {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}
