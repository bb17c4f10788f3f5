// What an app's own UserDefaults has and sets, for a test to compare with `sandboxfs defaults`.
//
// Words: `get KEY` prints a value, `set KEY TEXT` sets one.
import Foundation

let defaults = UserDefaults.standard
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst(), let key = words.popFirst() {
  if word == "get" {
    print(defaults.object(forKey: key) ?? "(nil)")
  } else {
    defaults.set(words.popFirst() ?? "", forKey: key)
  }
}
print(defaults.synchronize() ? "synchronized" : "lost")
