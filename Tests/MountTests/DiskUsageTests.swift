// What takes the space of an app, by what becomes of it; and the page about it, which says nothing
// that a name could make it say.

import TestSupport
import Testing

@Suite struct DiskUsageTests {
  @Test("each file counts once, for what becomes of it")
  func kinds() throws {
    let said = try shell(
      """
      fill() { head -c $(( $2 * 4096 )) /dev/zero > "$1"; }
      cd $C/data
      fill Documents/saved 4; ln Documents/saved Documents/again
      fill Documents/marked 8; fill Library/Caches/cache 16; fill tmp/temporary 32
      mkdir -p Documents/m/d; fill Documents/m/d/below 64
      sandboxfs exclude $APP Documents/marked Documents/m
      d=Documents; for n in $(seq 40); do d=$d/d; mkdir $d; done; fill $d/deep 128
      sandboxfs du --json $APP | grep -A 2 '"kind"' | grep -v '^--' | tr -d ' \\n' | sed 's/}//g'
      echo
      sandboxfs du $APP | sed 's/  */ /g' | grep -E 'example|kept|/Documents/(m|marked|d/d)( |$)'
      """)
    let directories = 4 + 40
    #expect(
      said.hasPrefix(
        "\"kind\":\"backedup\",\"bytes\":\((4 + 128 + directories) * 4096),\"files\":"), "\(said)")
    #expect(said.contains("\"kind\":\"keptonlyhere\"") == false)
    #expect(said.contains("\"kind\":\"kepthereonly\",\"bytes\":\((8 + 64 + 4) * 4096)"), "\(said)")
    #expect(said.contains("\"kind\":\"temporary\",\"bytes\":\((32 + 1) * 4096),\"files\":1"))
    #expect(said.contains("\n296.0 KiB") == false)
  }

  @Test("the page is one file without a script, and its areas are as large as what they show")
  func page() throws {
    let said = try shell(
      """
      cd $C/data/Documents
      head -c 400000 /dev/zero > '<script>alert(1)'
      head -c 200000 /dev/zero > $'b\\xff"\\'&\\n\\e[31m'
      mkdir '<style>'; head -c 100000 /dev/zero > '<style>/x'
      cd "$PLACE"; sandboxfs du --html page.html $APP; cat page.html
      """)
    #expect(said.contains("<script") == false)
    #expect(said.contains("&lt;script&gt;alert(1)"))
    #expect(said.contains("b\\377\\&quot;&#39;&amp;\\012\\033[31m"), "\(said)")
    #expect(said.contains("/&lt;style&gt;/x"), "a path is shown whole")
    #expect(said.contains("http") == said.contains("http-equiv"), "nothing leads to the network")
    #expect(said.utf8.contains(0x1b) == false)
    // The two greatest entries of Documents.
    let areas = said.matches(
      of: /class="k0 d2" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"/
    ).map { (Double($0.3) ?? 0) * (Double($0.4) ?? 0) }
    try #require(areas.count >= 3, "\(areas)")
    #expect(abs(areas[0] / areas[1] - 2) < 0.1 && abs(areas[1] / areas[2] - 2) < 0.2, "\(areas)")
  }
}
