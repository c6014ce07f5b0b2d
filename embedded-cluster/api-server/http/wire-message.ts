/** The type of a field of a message. `skipped` is for empty times, which Go always sends. */
export type WireType =
  | 'text'
  | 'base64'
  | 'integer'
  | 'flag'
  | 'skipped'
  /** resource.Quantity and intstr.IntOrString, which are messages of their own. */
  | 'quantity'
  | 'integerOrText'
  | { readonly message: WireMessage }
  /** A repeated field. */
  | { readonly messages: WireMessage }
  | { readonly list: 'text' }
  | { readonly map: 'text' | 'base64' | 'quantity' };

/** The fields of a message by their numbers. */
export type WireMessage = Readonly<Record<number, readonly [name: string, type: WireType]>>;
