/**
 * The longest argument or variable that the kernel accepts (execve(2): MAX_ARG_STRLEN, with its final NUL),
 * and the usual limit of all of them together.
 */
const longest = { word: 131_071, all: 2 * 1024 * 1024 };

/**
 * Expands the variables of one container. A variable that contains an earlier one ten times is ten times as
 * long. So a value that is longer than any program can receive is rejected before it is built: all pods share
 * the node's memory.
 */
export class Expansion {
  #total = 0;

  /**
   * Replaces `$(NAME)` by the value of this variable; `$$` is one `$`, and an unknown name stays unchanged
   * (kubernetes: third_party/forked/golang/expansion/expand.go). Throws if the result, which the message
   * calls `what`, or all results together are too long.
   */
  expand(text: string, variables: ReadonlyMap<string, string>, what: string): string {
    const parts: string[] = [];
    let length = 0;
    for (const [match, plain, name] of text.matchAll(/([^$]+)|\$(?:\$|\(([^()]*)\))?/g)) {
      const part = name !== undefined ? (variables.get(name) ?? match) : (plain ?? '$');
      length += Buffer.byteLength(part);
      if (length > longest.word) {
        throw new Error(`${what} would be longer than ${longest.word} bytes, with its variables expanded`);
      }
      parts.push(part);
    }
    this.#total += length;
    if (this.#total > longest.all) {
      throw new Error(`environment and command of the container would be longer than ${longest.all} bytes`);
    }
    return parts.join('');
  }
}
