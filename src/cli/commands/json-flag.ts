/** The option that makes an answer one for programs. */
export interface JsonFlag {
  readonly json?: true | undefined;
}
